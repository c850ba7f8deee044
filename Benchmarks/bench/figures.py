"""What is measured: a figure of the daemon's, those of what stands beside it, and the aims."""

import statistics
from dataclasses import dataclass, field


@dataclass
class Aim:
    """What the daemon's figure is to be: so many times a peer's, or so much by itself."""

    value: float
    peer: str = None
    # The difference from the peer's, not the ratio to it.
    is_difference: bool = False


@dataclass
class Figure:
    """A figure's name, its unit and its values by server, one a round; None is a round that failed."""

    target: str
    name: str
    unit: str
    values: dict = field(default_factory=dict)
    aims: list = field(default_factory=list)
    # Microseconds of the daemon's processor time a request, one a round.
    processor: list = field(default_factory=list)

    @property
    def is_better_higher(self):
        return self.unit == "/s"

    def add(self, server, value):
        self.values.setdefault(server, []).append(value)

    def summary(self):
        servers = {name: self.summary_of(values) for name, values in self.values.items()}
        own = servers.get("larder", {}).get("median")
        summary = {"target": self.target, "name": self.name, "unit": self.unit, "servers": servers}
        if self.processor:
            summary["processor_us"] = rounded(statistics.median(self.processor))
        for name, server in servers.items():
            if name != "larder" and own is not None and server["median"]:
                server["ratio"] = rounded(own / server["median"])
        summary["aims"] = [self.judged(aim, own, servers) for aim in self.aims
                           if aim.peer is None or aim.peer in servers]
        return summary

    @staticmethod
    def summary_of(values):
        found = [value for value in values if value is not None]
        # Medians of less than half of the rounds say nothing.
        if 2 * len(found) <= len(values):
            return {"median": None, "void": len(values) - len(found)}
        return {"median": rounded(statistics.median(found)), "lowest": rounded(min(found)),
                "highest": rounded(max(found)), "void": len(values) - len(found)}

    def judged(self, aim, own, servers):
        peer = servers[aim.peer]["median"] if aim.peer else None
        found = own
        if own is not None and aim.peer:
            found = None if not peer else own - peer if aim.is_difference else own / peer
        is_met = None
        if found is not None:
            is_met = found >= aim.value if self.is_better_higher else found <= aim.value
        kind = "difference" if aim.is_difference else "ratio" if aim.peer else "value"
        return {"peer": aim.peer, "kind": kind, "aim": aim.value, "found": rounded(found),
                "met": is_met}


def rounded(number):
    """As many digits as say something."""
    if number is None:
        return None
    return round(number) if abs(number) >= 100 else float(f"{number:.3g}")
