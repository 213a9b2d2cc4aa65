"""The optional model.

What is asked: `prompts/`, `window_dialogue.py`. What an answer must be: `answer_forms.py`,
`groups.py`, `objections.py`. Who answers: `chosen_model.py` (which model; Python functions),
`model_writer.py` (stored answers, else a call), `dispatcher.py` (calls at a time), `recording.py`,
`litellm_model.py`, `cli_model.py`. Which limits hold: `usage_limits.py`.
"""
