"""Compare an implementation of metrics with the values of a tool.

python run.py TOOL COMMAND [ARGUMENT ...]

The command reads a JSON object a line from standard input, with id, metric, options, qrels and run.
It writes a line for each: {"id": ..., "value": 0.5}, {"id": ..., "error": "reason"} or
{"id": ..., "skip": "reason"}. A value that is not a number is "nan" or null. Exits with 0 if all
answers agree, 1 if not, 2 if there is nothing to compare.
"""

import json
import subprocess
import sys
from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"


def agrees(vector, answer):
    """True if an answer is what the tool gives, within the tolerance."""
    if "error" in vector:
        return "error" in answer
    if "value" not in answer:
        return False
    expected, value = ("nan" if number is None else number for number in (vector["value"], answer["value"]))
    if isinstance(expected, str) or isinstance(value, (str, bool, list, dict)):
        return str(expected).lower() == str(value).lower()
    return abs(expected - value) <= vector["tolerance"]


def main(tool, command):
    """Ask the command for every value that can be reproduced, print what differs, and count."""
    tools = sorted(path.stem for path in VECTORS.glob("*.json") if path.stem != "rules")
    if tool not in tools:
        sys.exit(f"no values of {tool}; tools: {', '.join(tools)}")
    cases = json.loads((VECTORS / f"{tool}.json").read_text(encoding="utf-8"))["cases"]
    vectors = {vector["id"]: (case, vector) for case in cases for vector in case["values"]}
    asked = {name: pair for name, pair in vectors.items() if "not_reproducible" not in pair[1]}
    requests = (
        {"id": name, "metric": vector["metric"], "options": vector.get("options", "")}
        | {"qrels": case["qrels"], "run": case["run"]}
        for name, (case, vector) in asked.items()
    )
    text = "".join(json.dumps(request) + "\n" for request in requests)
    try:
        output = subprocess.run(
            command, input=text, stdout=subprocess.PIPE, encoding="utf-8", check=True
        ).stdout
        answers = {answer["id"]: answer for answer in map(json.loads, output.splitlines())}
    except (OSError, subprocess.CalledProcessError, ValueError, LookupError, TypeError) as error:
        sys.exit(f"{' '.join(command)}: {error!r}; write a line of JSON with an id for each request")
    compared = {name: pair for name, pair in asked.items() if "skip" not in answers.get(name, {})}
    failed = [name for name, (_, vector) in compared.items() if not agrees(vector, answers.get(name, {}))]
    for name in failed:
        vector, answer = vectors[name][1], answers.get(name, "no answer")
        print(f"{name} {vector['metric']} {vector.get('options', '')}: {answer}, not {vector}")
    agreeing, skipped = len(compared) - len(failed), len(asked) - len(compared)
    print(f"{tool}: {agreeing} agree, {len(failed)} differ, {skipped} skipped")
    sys.exit(1 if failed else 0 if compared else 2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 2 else sys.exit(__doc__)
