#!/usr/bin/env python3
"""How often two runs of one plan agree, and how wide their intervals are, for a number of rounds.

    agree.py FILE.jsonl...

The rounds that the files have of a point stand for all its rounds: runs are dealt from them, without
putting back, each with Student's interval of its rounds. Two runs agree where the 95% interval of
their difference holds zero. One round has the interval of its window.
"""

import json
import math
import random
import statistics
import sys
from collections import defaultdict

# Student's t, 97.5%, by degrees of freedom.
T975 = [12.706, 4.303, 3.182, 2.776]
DEALS = 1000


def rounds_of(paths):
    """The rounds of each point, as (throughput, half width within)."""
    points = defaultdict(list)
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if record["type"] != "point" or len(record.get("rounds", [])) < 2 or \
                        "rounds_left" in record:
                    continue
                key = json.dumps([record.get(name) for name in (
                    "layout", "processes", "threads", "memory", "sync", "launch", "connections")])
                points[key] += [(r["throughput_ips"], r["ci95_rel"]) for r in record["rounds"]]
    return points


def interval(rounds):
    """The mean, and the half width of its interval as a share; None where it is unknown."""
    values = [value for value, _ in rounds]
    if len(values) == 1:
        return values[0], rounds[0][1]
    mean = statistics.mean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    return mean, T975[len(values) - 2] * error / mean


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: agree.py FILE.jsonl...")
    try:
        points = rounds_of(sys.argv[1:])
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"agree.py: {error}")
    deal = random.Random(1)
    print("rounds  points  agree  median  within 1%  2%  5%")
    for count in range(1, len(T975) + 2):
        agree, halves = [], []
        used = [rounds for rounds in points.values() if len(rounds) >= 2 * count]
        for _ in range(DEALS):
            for rounds in used:
                dealt = deal.sample(rounds, 2 * count)
                (a, half_a), (b, half_b) = interval(dealt[:count]), interval(dealt[count:])
                if half_a is None or half_b is None:
                    continue
                agree.append(abs(a - b) <= math.hypot(half_a * a, half_b * b))
                halves.append(half_a)
        shares = [100 * sum(half <= limit for half in halves) / len(halves)
                  for limit in (0.01, 0.02, 0.05)]
        print(f"{count:6} {len(used):7} {100 * statistics.mean(agree):5.1f}% "
              f"{100 * statistics.median(halves):6.2f}% {shares[0]:9.0f}% {shares[1]:2.0f}% "
              f"{shares[2]:2.0f}%")


if __name__ == "__main__":
    main()
