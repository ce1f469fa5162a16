"""Whether a number is right: against a rate that is known, and not against another number.

A number of the emulated machine is wrong only if the computer was able to emulate it. Threads note
by how much they are late (emul/model/lateness.h), and that widens what counts as right; a number
that is right only thus is *discounted*, and counted.
"""
import math
import os
import struct

from world import read

# Warnings that leave the number itself undoubted.
UNRELATED = {"few-cores", "neighbour", "far-memory", "throttled", "leak", "gpu-imbalance"}
# Of 95% intervals at least 93% must hold; a sample that is less likely than this one refutes it.
MISS_SHARE = 0.07
UNLIKELY = 1e-4
NOTICEABLE = 0.02  # more than that by lateness alone counts as discounted


class Lateness:
    """Of all threads of a case."""

    def __init__(self, folder):
        self.planned = self.late = self.longest = self.between = self.capped = 0
        self.starts, self.worst, self.worst_capped = [], 0, 0
        for name in os.listdir(folder):
            data = read(os.path.join(folder, name))
            if len(data) < 64:
                continue
            _, planned, late, longest, between, capped, _, _ = struct.unpack("<8Q", data[:64])
            self.planned += planned
            self.late += late
            self.between += between
            self.longest = max(self.longest, longest)
            self.capped += capped
            if planned > 0:
                self.worst = max(self.worst, (late + between) / (planned + late + between))
                self.worst_capped = max(self.worst_capped, (capped + between) /
                                        (planned + capped + between))
            if len(data) >= 72:
                self.starts.append(struct.unpack("<Q", data[64:72])[0])

    def share(self, frozen_ns=0):
        """Of the threads' time, without what was done to them on purpose: each frozen thread was in
        one wait, most of which is late."""
        late = max(self.late - frozen_ns, self.capped) + self.between
        total = self.planned + late
        return late / total if total > 0 else 0


def slack_of(lateness, seconds, catches_up, stopped):
    """By what share a right number may lie below (where late threads catch up: also above) the
    known rate. It is that of the process that was late most: points have processes, and times, of
    their own. What was stopped on purpose explains no wrong number: no wait counts for more than
    its own length then."""
    if stopped:
        return lateness.worst_capped
    if catches_up:
        return 2 * lateness.longest / 1e9 / seconds if seconds > 0 else 1
    return lateness.worst


def judge(point, known, slack, catches_up=False):
    """'right', 'discounted', 'warned', 'wrong', or 'no interval'; and the error over the interval."""
    rate, interval = point["throughput_ips"], point["ci95_rel"]
    if interval is None:
        return "no interval", 0
    least, most = rate * (1 - interval), rate * (1 + interval)

    def holds(share):
        return least <= known * (1 + (share if catches_up else 0)) and most >= known * (1 - share)

    if holds(min(slack, NOTICEABLE)):
        return "right", 0
    if holds(slack):
        return "discounted", 0
    if any(warning["kind"] not in UNRELATED for warning in point.get("warnings") or []):
        return "warned", 0
    return "wrong", abs(rate / known - 1) / max(interval, 1e-9)


def is_gross(point, known, beyond):
    """A few misses are what an interval of 95% promises; not such ones."""
    return beyond > 4 and abs(point["throughput_ips"] / known - 1) > 0.1


def is_too_many(misses, count, share=MISS_SHARE):
    """Whether that count of misses, or more, is UNLIKELY if each has the probability `share`."""
    if misses == 0:
        return False
    def probability(k):
        return math.exp(math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
                        + k * math.log(share) + (count - k) * math.log1p(-share))

    return sum(probability(k) for k in range(misses, count + 1)) < UNLIKELY
