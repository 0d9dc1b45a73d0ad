"""Data analysis: code reads a table of thousands of rows, finds the odd month, draws it, and answers with a picture."""

import csv
import random
from pathlib import Path

from treadle import Agent, ScriptedModel

random.seed(7)
with Path("sales.csv").open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["month", "amount"])
    for number in range(6_000):
        month = number % 12 + 1
        rows.writerow([month, round(random.gauss(100, 10) * (1.6 if month == 11 else 1), 2)])

READ = """The table is large, so I add it up by month.
```python
import csv
with open("/work/sales.csv") as file:
    rows = list(csv.DictReader(file))
sums = {month: 0.0 for month in range(1, 13)}
for row in rows:
    sums[int(row["month"])] += float(row["amount"])
print(len(rows), sums)
```"""
DRAW = """November stands out; a picture shows it.
```python
best = max(sums, key=lambda month: sums[month])
bars = ""
for month, amount in sums.items():
    height = round(amount / sums[best] * 180)
    color = "#c33" if month == best else "#69c"
    bars += f'<rect x="{month * 24}" y="{190 - height}" width="18" height="{height}" fill="{color}"/>'
with open("/work/sales.svg", "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="340" height="200">{bars}</svg>')
final_answer(f"Month {best} sold {sums[best] / (sum(sums.values()) / 12):.2f} times the mean; see sales.svg.")
```"""
PLAN = '{"steps": [{"text": "add up by month", "done": false}, {"text": "draw the months", "done": false}]}'

work = iter([READ, DRAW])
model = ScriptedModel(lambda request: PLAN if request.component == "planner" else next(work))
# With executor="python", packages=["pandas", "matplotlib"] the code may use these; open plots come back as pictures.
agent = Agent(model, None, preset="code")
result = agent.run_sync("Which month is unusual? Show it.", files=["sales.csv"])

print(result.answer)
for artifact in result.artifacts:
    path = Path(artifact.name)
    path.write_text(artifact.content)
    print(f"  {path} ({artifact.mime}): {artifact.summary}")
assert result.answer.startswith("Month 11")
assert result.answer.endswith("see sales.svg.")
assert [artifact.name for artifact in result.artifacts] == ["sales.svg"]
