"""The results as a table, and against those of another run."""


def text(number):
    if number is None:
        return "void"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:g}"


def verdict(figure, peer):
    """What was aimed at, and whether it came about."""
    for aim in figure["aims"]:
        if aim["peer"] == peer:
            bound = ">=" if figure["unit"] == "/s" else "<="
            unit = {"ratio": " x", "value": "", "difference": f" {figure['unit']} more"}[aim["kind"]]
            met = {True: "met", False: "missed", None: "void"}[aim["met"]]
            found = f", is {text(aim['found'])}" if aim["kind"] == "difference" else ""
            return f"{bound} {text(aim['aim'])}{unit}: {met}{found}"
    return ""


def table(result):
    rows = [["", "figure", "server", "median", "unit", "lowest", "highest", "ratio", "aim"]]
    for figure in result["figures"]:
        head = [figure["target"], figure["name"]]
        for name, server in figure["servers"].items():
            is_own = name == "larder"
            ratio = "" if is_own else f"{text(server['ratio'])} x" if "ratio" in server else "-"
            rows.append(head + [
                name, text(server["median"]), figure["unit"], text(server.get("lowest")),
                text(server.get("highest")), ratio, verdict(figure, None if is_own else name)])
            head = ["", ""]
        if "processor_us" in figure:
            rows.append(["", "", "", text(figure["processor_us"]), "us", "", "", "",
                         "of larder's processor time a request"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = {3, 5, 6, 7}
    lines = (
        "  ".join(cell.rjust(width) if column in right else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows)
    return "\n".join(lines)


def slower(figure, before):
    """By what part a figure is worse than before, for each peer that both have; else by itself.

    What is compared with a peer in the same run can be compared with another run's."""
    is_better_higher = figure["unit"] == "/s"
    own, own_before = (one["servers"].get("larder", {}).get("median") for one in (figure, before))
    if not own or not own_before:
        return []
    peers = [name for name, server in figure["servers"].items()
             if "ratio" in server and "ratio" in before["servers"].get(name, {})]
    found = [(f"to {name}", figure["servers"][name]["ratio"], before["servers"][name]["ratio"])
             for name in peers] or [("by itself", own, own_before)]
    return [(what, now, then, (then / now if is_better_higher else now / then) - 1)
            for what, now, then in found if now and then]


def comparison(result, before):
    """A line for each figure that both runs have; those that became slower by more than a twentieth
    are marked."""
    then = {(figure["target"], figure["name"]): figure for figure in before["figures"]}
    lines = [f"against {before['commit']} of {before['date']}:"]
    for figure in result["figures"]:
        key = (figure["target"], figure["name"])
        for what, now, was, part in slower(figure, then[key]) if key in then else []:
            mark = "slower" if part > 0.05 else "faster" if part < -0.05 else "as before"
            lines.append(f"  {' '.join(key):24} {what:14} {text(was):>9} -> {text(now):>9}  {mark}")
    return "\n".join(lines)
