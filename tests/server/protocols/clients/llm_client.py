"""`llm`, with an agent as one of its OpenAI-compatible models."""

import json
import os
import sys
from pathlib import Path

address, token = sys.argv[1:]
folder = Path(os.environ["LLM_USER_PATH"])
folder.mkdir(parents=True, exist_ok=True)
(folder / "extra-openai-models.yaml").write_text(
    json.dumps([{"model_id": "looker", "model_name": "looker", "api_base": f"{address}/v1", "api_key_name": "treadle"}])
)
(folder / "keys.json").write_text(json.dumps({"treadle": token}))

import llm  # noqa: E402 - it reads the folder

model = llm.get_model("looker")
whole = model.prompt("2+3?", stream=False).text()
streamed = "".join(model.prompt("2+3?", stream=True))
print(json.dumps({"whole": whole, "streamed": streamed}))
