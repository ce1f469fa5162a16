#!/usr/bin/env python3
"""Writes what binding needs of a machine's topology, as hwloc recorded it there, beside it: python3 reduce.py RECORDING NAME
[--siblings N]
[--gpus PATTERN]. See README.md for where the recordings are from.

Kept are packages, groups, NUMA nodes, cores, hardware threads and NVIDIA GPUs with the bridges above them; left out are caches,
other devices, distances and all that names the very machine, such as serial numbers. `lstopo --of xml` writes a recording;
one whose cores were left out already gets them from --siblings: CPUs N apart are one core (0: each is a core). --gpus is what
tells a GPU by its PCI class and identity, where a recording lacks NVIDIA's.
"""
import argparse
import os
import re
import xml.etree.ElementTree as ET

SETS = [f"{prefix}{name}" for name in ("cpuset", "nodeset") for prefix in ("", "complete_", "allowed_")]
KEPT = {
    "Machine": ["os_index"], "Package": ["os_index"], "Die": ["os_index"], "Group": ["kind", "subkind"],
    "NUMANode": ["os_index", "subtype", "local_memory"], "Core": ["os_index"], "PU": ["os_index"],
    "Bridge": ["bridge_type", "depth", "bridge_pci", "pci_busid", "pci_type", "pci_link_speed"],
    "PCIDev": ["pci_busid", "pci_type", "pci_link_speed"],
}


def members(text):
    """CPUs of a set in hwloc's writing: 32 bits a word, the highest first; an empty word is 0."""
    words = [int(word or "0", 16) for word in reversed(text.split(","))]
    return [32 * i + bit for i, word in enumerate(words) for bit in range(32) if word >> bit & 1]


def text_of(cpus):
    words = [0] * (max(cpus) // 32 + 1)
    for cpu in cpus:
        words[cpu // 32] |= 1 << (cpu % 32)
    return ",".join(f"0x{word:x}" for word in reversed(words))


class Reduction:
    def __init__(self, siblings, gpus):
        self.siblings, self.gpus, self.lines, self.index = siblings, gpus, [], 0

    def is_gpu(self, thing):
        return re.match(self.gpus, thing.get("pci_type", "")) is not None

    def emit(self, depth, kind, attributes, children):
        self.index += 1
        words = "".join(f' {name}="{value}"' for name, value in attributes)
        self.lines.append(f'{" " * depth}<object type="{kind}" gp_index="{self.index}"{words}{">" if children else "/>"}')
        for child in children:
            child(depth + 1)
        if children:
            self.lines.append(f'{" " * depth}</object>')

    def cores(self, of):
        """The cores that a recording left out, of a package."""
        cpus = members(of.get("cpuset"))
        seconds = {cpu + self.siblings for cpu in cpus} & set(cpus) if self.siblings else set()
        found = []
        for cpu in (cpu for cpu in cpus if cpu not in seconds):
            core = [cpu] + [cpu + self.siblings] * (cpu + self.siblings in seconds)

            def sets(some):
                return [(f"{prefix}cpuset", text_of(some)) for prefix in ("", "complete_")] + \
                       [(f"{prefix}nodeset", of.get("nodeset")) for prefix in ("", "complete_")]
            threads = [lambda depth, t=thread: self.emit(depth, "PU", [("os_index", t)] + sets([t]), []) for thread in core]
            found.append(lambda depth, c=core, inside=threads: self.emit(depth, "Core", [("os_index", c[0])] + sets(c), inside))
        return found

    def writers(self, thing):
        """What writes a thing: itself, or where it is left out, what is kept inside."""
        kind = thing.get("type")
        inside = [write for child in thing.findall("object") for write in self.writers(child)]
        if kind == "Package" and self.siblings is not None:
            inside = inside[:1] + self.cores(thing) + inside[1:]
        if kind not in KEPT or (kind == "Bridge" and not inside) or (kind == "PCIDev" and not self.is_gpu(thing)):
            return inside
        attributes = [(name, thing.get(name)) for name in KEPT[kind][:1] + SETS + KEPT[kind][1:] if thing.get(name) is not None]
        return [lambda depth: self.emit(depth, kind, attributes, inside)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("name")
    parser.add_argument("--siblings", type=int)
    parser.add_argument("--gpus", default=r"03\w\w \[10de:")
    arguments = parser.parse_args()
    reduction = Reduction(arguments.siblings, arguments.gpus)
    for write in reduction.writers(ET.parse(arguments.recording).getroot().find("object")):
        write(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), arguments.name + ".xml")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
                              '<topology version="2.0">'] + reduction.lines + ["</topology>"]) + "\n")


if __name__ == "__main__":
    main()
