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


def rows(result):
    """The cells of the table; the first row of a figure has its name."""
    found = [["", "figure", "server", "median", "unit", "lowest", "highest", "ratio", "aim"]]
    for figure in result["figures"]:
        head = [figure["target"], figure["name"]]
        for name, server in figure["servers"].items():
            is_own = name == "larder"
            ratio = "" if is_own else f"{text(server['ratio'])} x" if "ratio" in server else "-"
            found.append(head + [
                name, text(server["median"]), figure["unit"], text(server.get("lowest")),
                text(server.get("highest")), ratio, verdict(figure, None if is_own else name)])
            head = ["", ""]
        if "processor_us" in figure:
            found.append(["", "", "", text(figure["processor_us"]), "us", "", "", "",
                          "of larder's processor time a request"])
    return found


def table(result):
    cells = rows(result)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    right = {3, 5, 6, 7}
    lines = (
        "  ".join(cell.rjust(width) if column in right else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in cells)
    if result["accounts"]:
        lines = [*lines, f"with{accounts_option(result)}: an account reads and writes, and origins join writes"]
    return "\n".join(lines)


BEGIN, END = "<!-- generated: results -->\n", "<!-- end: results -->\n"


def markdown(result):
    """The results for docs/benchmarks.md: how they were measured, and the table."""
    machine = result["machine"]
    facts = [
        ("command",
         f"`scripts/bench --rounds={result['rounds']}{accounts_option(result)} --write`"),
        ("date", result["date"]),
        ("commit", f"`{result['commit']}`"),
        ("machine", f"{machine['processors']} processors ({machine['processor']}), {machine['system']}"),
        ("programs", "; ".join(sorted(result["versions"].values()))),
    ]
    head, *cells = rows(result)
    lines = ["| run | |", "|---|---|", *(f"| {name} | {fact} |" for name, fact in facts), ""]
    lines += [f"| {' | '.join(['target', *head[1:]])} |", "|---|---|---|--:|---|--:|--:|--:|---|"]
    lines += [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join(lines)


def accounts_option(result):
    # Older files have true.
    given = result.get("accounts")
    return " --accounts=new" if given == "new" else " --accounts" if given else ""


def around(path):
    """A page before and after its results."""
    with open(path) as file:
        before, begin, rest = file.read().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines {BEGIN.strip()} and {END.strip()}")
    return before, after


def write(result, path):
    """Puts the results between the markers of a page."""
    before, after = around(path)
    with open(path, "w") as file:
        file.write(f"{before}{BEGIN}\n{markdown(result)}\n\n{END}{after}")


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
    lines = [f"against {before['commit']} of {before['date']}{accounts_option(before)}:"]
    for figure in result["figures"]:
        key = (figure["target"], figure["name"])
        for what, now, was, part in slower(figure, then[key]) if key in then else []:
            mark = "slower" if part > 0.05 else "faster" if part < -0.05 else "as before"
            lines.append(f"  {' '.join(key):24} {what:14} {text(was):>9} -> {text(now):>9}  {mark}")
    return "\n".join(lines)
