-- claude-mem 13.25.3; of its tables those that slowwave looks at.
CREATE TABLE schema_versions (
        id INTEGER PRIMARY KEY,
        version INTEGER UNIQUE NOT NULL,
        applied_at TEXT NOT NULL
      );
INSERT INTO "schema_versions" VALUES(1,4,'2026-11-24T22:22:15.420Z');
INSERT INTO "schema_versions" VALUES(2,5,'2026-11-24T22:22:15.422Z');
INSERT INTO "schema_versions" VALUES(3,6,'2026-11-24T22:22:15.423Z');
INSERT INTO "schema_versions" VALUES(4,7,'2026-11-24T22:22:15.427Z');
INSERT INTO "schema_versions" VALUES(5,8,'2026-11-24T22:22:15.427Z');
INSERT INTO "schema_versions" VALUES(6,9,'2026-11-24T22:22:15.428Z');
INSERT INTO "schema_versions" VALUES(7,10,'2026-11-24T22:22:15.429Z');
INSERT INTO "schema_versions" VALUES(8,11,'2026-11-24T22:22:15.429Z');
INSERT INTO "schema_versions" VALUES(9,16,'2026-11-24T22:22:15.429Z');
INSERT INTO "schema_versions" VALUES(10,17,'2026-11-24T22:22:15.430Z');
INSERT INTO "schema_versions" VALUES(11,20,'2026-11-24T22:22:15.431Z');
INSERT INTO "schema_versions" VALUES(12,21,'2026-11-24T22:22:15.431Z');
INSERT INTO "schema_versions" VALUES(13,22,'2026-11-24T22:22:15.431Z');
INSERT INTO "schema_versions" VALUES(14,23,'2026-11-24T22:22:15.431Z');
INSERT INTO "schema_versions" VALUES(15,24,'2026-11-24T22:22:15.433Z');
INSERT INTO "schema_versions" VALUES(16,26,'2026-11-24T22:22:15.433Z');
INSERT INTO "schema_versions" VALUES(17,27,'2026-11-24T22:22:15.438Z');
INSERT INTO "schema_versions" VALUES(18,29,'2026-11-24T22:22:15.438Z');
INSERT INTO "schema_versions" VALUES(19,30,'2026-11-24T22:22:15.439Z');
INSERT INTO "schema_versions" VALUES(20,31,'2026-11-24T22:22:15.439Z');
INSERT INTO "schema_versions" VALUES(21,28,'2026-11-24T22:22:15.440Z');
INSERT INTO "schema_versions" VALUES(22,32,'2026-11-24T22:22:15.440Z');
INSERT INTO "schema_versions" VALUES(23,33,'2026-11-24T22:22:15.440Z');
INSERT INTO "schema_versions" VALUES(24,34,'2026-11-24T22:22:15.443Z');
INSERT INTO "schema_versions" VALUES(25,35,'2026-11-24T22:22:15.443Z');
INSERT INTO "schema_versions" VALUES(26,39,'2026-11-24T22:22:15.448Z');
INSERT INTO "schema_versions" VALUES(27,41,'2026-11-24T22:22:15.450Z');
INSERT INTO "schema_versions" VALUES(28,42,'2026-11-24T22:22:15.450Z');
INSERT INTO "schema_versions" VALUES(29,44,'2026-11-24T22:22:15.451Z');
INSERT INTO "schema_versions" VALUES(30,45,'2026-11-24T22:22:15.451Z');
INSERT INTO "schema_versions" VALUES(31,46,'2026-11-24T22:22:15.454Z');
INSERT INTO "schema_versions" VALUES(32,47,'2026-11-24T22:22:15.454Z');
INSERT INTO "schema_versions" VALUES(33,48,'2026-11-24T22:22:15.454Z');
INSERT INTO "schema_versions" VALUES(34,49,'2026-11-24T22:22:15.455Z');
INSERT INTO "schema_versions" VALUES(35,50,'2026-11-24T22:22:15.455Z');
INSERT INTO "schema_versions" VALUES(36,51,'2026-11-24T22:22:15.458Z');
INSERT INTO "schema_versions" VALUES(37,52,'2026-11-24T22:22:15.458Z');
CREATE TABLE sdk_sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE,
        project TEXT NOT NULL,
        platform_source TEXT NOT NULL DEFAULT 'claude',
        user_prompt TEXT,
        started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL,
        completed_at TEXT,
        completed_at_epoch INTEGER,
        status TEXT CHECK(status IN ('active', 'completed', 'failed')) NOT NULL DEFAULT 'active'
      , worker_port INTEGER, prompt_counter INTEGER DEFAULT 0, custom_title TEXT, observed_model TEXT, observed_billing TEXT);
INSERT INTO "sdk_sessions" VALUES(1,'c-1','m-1','billing','claude','Look at the port','2026-11-24T22:22:15.459Z',1795558935459,NULL,NULL,'active',NULL,0,NULL,NULL,NULL);
INSERT INTO "sdk_sessions" VALUES(2,'c-2','m-2','wiki','claude','Backup','2026-11-24T22:22:15.461Z',1795558935461,NULL,NULL,'active',NULL,0,NULL,NULL,NULL);
CREATE TABLE "observations" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        text TEXT,
        type TEXT NOT NULL,
        title TEXT,
        subtitle TEXT,
        facts TEXT,
        narrative TEXT,
        concepts TEXT,
        files_read TEXT,
        files_modified TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT, agent_id TEXT, metadata TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO "observations" VALUES(1,'m-1','billing',NULL,'discovery','Port of billing','Where it listens','["Billing listens on port 8080.","Refunds need a second signature."]','The configuration was read: billing listens on 8080.','["how-it-works"]','["billing/server.py"]','[]',1,'2026-02-03T09:00:00.000Z',1770109200000,0,'55ff64f4b39a0a3e',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
INSERT INTO "observations" VALUES(2,'m-1','billing',NULL,'change','Billing moved',NULL,'["Billing listens on port 9090 now."]','The port was changed.','["what-changed"]','["billing/server.py"]','[]',2,'2026-02-09T09:00:00.000Z',1770627600000,0,'4b6f6a369386a156',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
INSERT INTO "observations" VALUES(3,'m-1','billing',NULL,'discovery','Refunds',NULL,'["Refunds need a second signature"]','Refunds were looked at.','[]','["billing/server.py"]','[]',3,'2026-02-10T09:00:00.000Z',1770714000000,0,'c2900fc45c91cdc6',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
INSERT INTO "observations" VALUES(4,'m-2','wiki',NULL,'discovery','Backup of the wiki',NULL,'[]','The backup of the wiki runs at 02:30 every night.','[]','["billing/server.py"]','[]',1,'2026-02-11T09:00:00.000Z',1770800400000,0,'51b9ce8a8c240c24',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
