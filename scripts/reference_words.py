"""Words of the generated pages that the source has no place for."""

from __future__ import annotations

VARIABLES = {
    "TREADLE_MODEL": "the model when none is named: `openai:gpt-5-mini`",
    "TREADLE_CONFIG": "the file with your defaults, in place of the one in the configuration folder: [files](files.md)",
    "TREADLE_STATE": "the folder of journal, stored profiles and history of the chat",
    "TREADLE_JOURNAL_KEY": "the key that servers of one database share: each resumes the runs that one of them started",
    "TREADLE_CACHE": "the folder of downloaded models",
    "TREADLE_WEIGHTS": "where the file of a local model comes from: a file, a folder, `hub` or `mirror`",
    "TREADLE_WARM_MINUTES": "for how long a local model stays loaded after a command of the terminal program (5)",
    "TREADLE_CPU_CODE": "`wheel`: a local model on ARM uses the wheel's own code, not the faster one of the package",
    "TREADLE_TOKEN": "the token that clients of `treadle serve` must send; needed to listen on other addresses",
    "TREADLE_DEBUG": "1: errors of the terminal program with their traceback",
    "TREADLE_PLAIN": "1: plain lines in place of the live display",
    "NO_COLOR": "no colours",
    "TERM": "`dumb` or `unknown`: plain lines",
    "WT_SESSION": "on Windows, set by a terminal that can show colours; so are the next two",
    "ANSICON": "the same, of ANSICON",
    "ConEmuANSI": "the same, of ConEmu: `ON`",
    "COLUMNS": "the width of the terminal, where it is not the terminal's own",
    "XDG_STATE_HOME": "on Linux, the folder that has the state folder (`~/.local/state`)",
    "XDG_CACHE_HOME": "on Linux, the folder that has the cache folder (`~/.cache`)",
    "XDG_CONFIG_HOME": "on Linux, the folder that has the configuration folder (`~/.config`)",
    "LOCALAPPDATA": "on Windows, the folder that has the state and cache folders",
    "APPDATA": "on Windows, the folder that has the configuration folder",
    "HF_ENDPOINT": "a mirror of the hub from which local models are downloaded",
    "HF_TOKEN": "your token of that hub, for models with a licence to accept; sent to that host alone",
    "NETRC": "a file of passwords instead of `~/.netrc`; one for the hub is used where there is no `HF_TOKEN`",
    "AWS_REGION": "provider `bedrock`: the region; botocore reads more: [Bedrock](../howto/bedrock.md)",
    "GOOGLE_CLOUD_LOCATION": "provider `vertex`: the location; google-auth reads more: [Vertex](../howto/vertex.md)",
    "GOOGLE_CLOUD_REGION": "the same, where `GOOGLE_CLOUD_LOCATION` is not set",
    "CLOUD_ML_REGION": "the same, where neither is set",
    "GOOGLE_CLOUD_PROJECT": "`vertex`: the project",
    "GCLOUD_PROJECT": "the same, where `GOOGLE_CLOUD_PROJECT` is not set",
    "GOOGLE_APPLICATION_CREDENTIALS": "`vertex`: the file of the credentials",
    "NCBI_API_KEY": "tool `pubmed`: a key allows more requests a second",
    "TAVILY_API_KEY": "tool `tavily`: the key",
    "GOOGLE_API_KEY": "tool `google`: the key; also a key for Gemini",
    "GOOGLE_CSE_ID": "tool `google`: the id of the search engine",
    "BAIDU_API_KEY": "tool `baidu`: the key",
    "QWEATHER_API_KEY": "tool `qweather`: the key",
    "QWEATHER_API_HOST": "tool `qweather`: the account's own host",
    "OMP_WAIT_POLICY": "local models: set to `passive` unless you set it, so that idle threads do not spin",
    "GOMP_SPINCOUNT": "local models: set to `0` unless you set it, for the same reason",
}
PROXIES = "HTTP_PROXY, HTTPS_PROXY, NO_PROXY"
STREAM_EVENTS = {
    "step": "the model thinks (`type: thinking`), a tool works (`iteration`) or the answer begins (`answer`)",
    "answer": "the answer in pieces; `provisional` ones may be `retracted`: [streaming](../howto/stream.md)",
    "reset": "an attempt failed or the answer was replaced: what was shown of it is void",
    "phase": "what goes on outside the loop: `paused` with the calls that wait, `resumed`, plans, tool selection",
    "step_progress": "a step of a plan (DAG mode)",
    "inject": "a message that was sent to the run has been read",
    "compact": "old messages were replaced by a summary",
    "error": "the run failed; `done` follows",
    "done": "the last event: answer, usage, why it ended",
    "activity": "`detail=full` only: a component other than the loop asks the model",
    "thought": "`detail=full` only: a piece of a thought",
    "output": "`detail=full` only: a piece of what a tool says while it works",
    "items": "`detail=items` only: view items that are new or have changed, by `id`; the last has an `end`",
    "piece": "`detail=items` only: more text of an item that is being written",
}
STREAM_FIELDS = {
    "step": "type status iteration reasoning tool_name tool_args observation error iter_elapsed call_id artifacts "
    "truncated",
    "answer": "status content provisional",
    "reset": "component attempt error wait replaced",
    "phase": "phase total_tools mode round steps iteration reason calls call_id allow by note always tool_args error",
    "step_progress": "step status task run round result error elapsed usage",
    "inject": "type content ids",
    "compact": "summary original_messages kept_messages reason",
    "error": "type message stop_reason partial",
    "done": "answer iterations usage elapsed stop_reason success run_id unread",
    "activity": "component status iteration elapsed",
    "thought": "content component iteration reasoning",
    "output": "content call_id tool_name",
    "items": "items",
    "piece": "item content reasoning",
}
"""Their fields; `tests/server/live/test_projection.py` compares them with what is sent."""

TOOLS = """\
# Built-in tools

By name: `treadle run -t calculator -t files,folder=notes` at the terminal; `tools=["calculator"]` and, with parameters,
`builtin("files", folder="notes")` in code; `{component_name: files, params: {folder: notes}}` in a
[file](files.md#agents). Parameters are those of the person who sets the tool up; arguments
are what the model gives. What the model calls stands below, with the effect of a call, `untrusted` if results come from
outside, and what the model is told; `treadle tools NAME` shows its arguments, too.
"""
PROMPTS = """\
# Prompts

Every text of the engine's own can be replaced by name: `Agent(model, prompts={name: text})`. A name that nothing
reads is an error that says which one was meant. Placeholders in braces are filled in. `system=` and `instructions=`
of an agent are not in this list: they are yours from the start. A plug-in names prompts of its own in its `prompts`.

"""
DEFAULTS = """\
# Files

## Your defaults

`config.toml` in your configuration folder: `~/.config/treadle/` on Linux, `~/Library/Application Support/treadle/` on a
Mac, `%APPDATA%\\treadle\\` on Windows; `TREADLE_CONFIG` names another file. It is read by the terminal program only; an
option of a command takes precedence over it. An unknown field is an error.

```toml
model = "ollama:llama3.2"
tools = ["calculator", "files,folder=notes"]

[settings]
temperature = 0.2
ask = ["all"]
```

"""
AGENTS = """\

## Agents

JSON or YAML: [how to use it](../howto/files.md). The short form has `agent` with the fields of
[AgentParams](#agentparams) in place of `components`. `treadle config schema` prints the JSON Schema.

- `Begin`: the question; with `inputs`, its parts by name: `{{begin@review}}`.
- `Agent`: a run of an agent; `output_schema` makes `{{Agent:Id@structured.field}}`.
- `Message`: a part of the answer: `content`, or without it what the components before it gave.
- `Retrieval`, `ExeSQL`, any built-in tool: a call without a model, with `arguments`.
- `Categorize`: one request chooses among `category_description`, whose `to` leads the way.
- `Switch`: the first of its `conditions` that holds leads the way, else `end_cpn_ids`.
- `Iteration`: runs the components with its `parent_id` once for each item of `items_ref`.
- `UserFillUp`: pauses the run and asks with a form; in a program `agent.resume(run_id, results={...})` goes on.
- `VariableAggregator`, `VariableAssigner`, `StringTransform`: the first value there is; change a variable; split or
  join a text.
- `Invoke`: an HTTP request to a public address.
- `CodeExec` with `script`: a Python function `main` in the sandbox.

References: `{{sys.query}}` the question, `{{sys.user}}` who asks, `{{sys.files}}` the names of the files that came with
it, `{{sys.history}}`, `{{sys.date}}`, `{{sys.conversation_turns}}`; `{{env.name}}` a variable under `globals`;
`{{Component:Id@content}}` the output of a component that runs before. Any other name is an error.
"""
ENVIRONMENT = """\
# Environment variables

An argument takes precedence over a variable, a variable over a file. Keys and addresses of providers:
[providers](providers.md).

"""
SECRETS = """\

## Secrets

Values of variables whose names end in `_KEY`, `_TOKEN` or `_SECRET` or contain `PASSWORD` are kept out of logs,
records and requests: [durable runs](../howto/durable.md#secrets). `${NAME}` and `${NAME:-default}` in a
[file](files.md#agents) take any variable.
"""
HTTP = """\
# HTTP

What `treadle serve` answers ([serving](../howto/serve.md)). Bodies are JSON; unknown fields are refused. The same for
machines, with every body and query, is at `/openapi.json`. With tokens, send `Authorization: Bearer TOKEN`.

## Operations

"""
STREAM = """\

## Events of a stream

`GET /api/runs/{run_id}/events`. Every event has an `id`, and in its data `run_id`, `parent` and `depth`.

"""
AFTER_PROMPTS = """
What a run really sent is in its log: `treadle runs explain last`, or the inspector of the page.
"""
