"""Request loop of the peers: one line of words in, one JSON object per line out; what fails is told, not fatal."""
import json
import sys


def serve(commands):
    for line in sys.stdin:
        name, *words = line.split()
        try:
            reply = commands[name](*words)
        except Exception as error:
            reply = {"missing": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(reply), flush=True)
