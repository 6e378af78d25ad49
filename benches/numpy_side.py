"""NumPy's side of the races: reads lines `TIMES WORK`, does the work so often, prints the seconds that it took."""

import io
import sys
import time

import numpy as np


def main():
    print(np.__version__, flush=True)
    state = {"np": np, "io": io, "time": time, "clock": time.perf_counter}
    for line in sys.stdin:
        times, work = line.strip().split(" ", 1)
        if work.startswith("let "):
            exec(work[4:], state)
            print(0.0, flush=True)
            continue
        state["times"] = int(times)
        # What the work gives is kept until the clock has stopped, as on the other side.
        body = work if "=" in work.split("(")[0] else f"made = {work}"
        exec(f"start = clock()\nfor _ in range(times):\n    {body}\ntook = clock() - start\nmade = None", state)
        print(state["took"], flush=True)


main()
