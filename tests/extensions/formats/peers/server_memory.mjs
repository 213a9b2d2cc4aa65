// Talks to the real server: node server_memory.mjs SERVER FILE TOOL ARGUMENTS; prints what it answers.
import { spawn } from 'node:child_process';

const [, , server, file, tool, given] = process.argv;
const running = spawn('node', [server], {
  env: { ...process.env, MEMORY_FILE_PATH: file },
  stdio: ['pipe', 'pipe', 'ignore'],
});
const waiting = new Map();
let read = '';
running.stdout.on('data', (data) => {
  read += data;
  for (let end; (end = read.indexOf('\n')) >= 0; read = read.slice(end + 1)) {
    const message = JSON.parse(read.slice(0, end));
    waiting.get(message.id)?.(message);
  }
});
let last = 0;
const send = (message) => running.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const call = (method, params) =>
  new Promise((answered) => {
    waiting.set(++last, answered);
    send({ id: last, method, params });
  });
await call('initialize', {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'slowwave-tests', version: '1' },
});
send({ method: 'notifications/initialized' });
const answer = await call('tools/call', { name: tool, arguments: JSON.parse(given) });
console.log(answer.result.content[0].text);
running.kill();
