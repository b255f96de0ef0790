# SPDX-License-Identifier: Apache-2.0
"""Tasks for tokens.py: what lies there, what is asked, and what a model does about it in either way.

A task's prepare() lays its data out below a directory and returns the answer. Its direct() is a model that calls
tools: `turn` makes the calls of one reply, all at once where none needs another, and gives their texts. Its code()
is a model that writes steps. Both find the answer in what they are shown.
"""

import json
import os
import random
import re

PEOPLE = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jon", "Kim", "Lea", "Max", "Nia", "Omar", "Pia"]
WORDS = ("the budget for the next quarter was raised again and nobody could say where the money would come from so we "
         "agreed to ask the suppliers for an offer before the meeting in May while support keeps the old contract alive "
         "until everything has been moved and tested by the people who use it every day").split()


def put(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Task:
    servers = ("files",)
    only = None  # the tools of its servers that are configured; None: all
    name = what = None

    def prepare(self, root):
        """Lay the data out. Returns: the answer."""
        raise NotImplementedError

    def direct(self, turn, root):
        """Returns: what the model says in the end."""
        raise NotImplementedError

    def code(self, root):
        """Returns: the steps; the last one calls final_answer()."""
        raise NotImplementedError


def talk(words, seed):
    """The transcript of a meeting."""
    r, lines, n = random.Random(seed), [], 0
    while n < words:
        said = " ".join(r.choice(WORDS) for _ in range(r.randrange(12, 40)))
        lines.append(f"[{n // 150:02d}:{n % 60:02d}] {r.choice(PEOPLE)}: {said}.")
        n += len(said.split())
    return "\n".join(lines) + "\n"


class Transcript(Task):
    """A long text goes from one server to another, and nobody needs to read it."""

    name = "attach a transcript of 9,000 words"
    what = "Attach the transcript {root}/meeting.txt to the entity 'Sales lead' in memory, as an observation."
    servers = ("files", "memory")

    def prepare(self, root):
        put(root, "meeting.txt", talk(9000, 1))
        put(root, "memory.jsonl", json.dumps(
            {"type": "entity", "name": "Sales lead", "entityType": "lead", "observations": []}) + "\n")
        return "attached"

    def direct(self, turn, root):
        (text,) = turn(("files.read_text_file", {"path": f"{root}/meeting.txt"}))
        turn(("memory.add_observations", {"observations": [{"entityName": "Sales lead", "contents": [text]}]}))
        return "attached"

    def code(self, root):
        return [
            "tools.search('read a text file'), tools.search('add observations')",
            f"text = tools.files.read_text_file(path='{root}/meeting.txt')['content']\n"
            "done = tools.memory.add_observations(observations=[{'entityName': 'Sales lead', 'contents': [text]}])\n"
            "final_answer('attached' if done['results'][0]['addedObservations'] else 'not attached')",
        ]


class Margin(Task):
    """Many rows, one number."""

    name = "average margin of 2,000 orders"
    what = "What is the average margin (revenue less cost) of the orders in {root}/orders.csv, to the cent? Leave out those without a cost."

    def prepare(self, root):
        r, rows, margins = random.Random(2), ["order,customer,revenue,cost"], []
        for i in range(2000):
            revenue, cost = r.randrange(1000, 90000), r.randrange(500, 60000)
            has_cost = r.random() > 0.02
            rows.append(f"{10000 + i},{r.choice(PEOPLE)} & Co,{revenue / 100:.2f},{f'{cost / 100:.2f}' if has_cost else ''}")
            if has_cost:
                margins.append(revenue - cost)
        put(root, "orders.csv", "\n".join(rows) + "\n")
        return f"{sum(margins) / len(margins) / 100:.2f}"

    def direct(self, turn, root):
        (text,) = turn(("files.read_text_file", {"path": f"{root}/orders.csv"}))
        rows = [line.split(",") for line in text.split("\n")[1:] if line]
        margins = [float(r[2]) - float(r[3]) for r in rows if r[3]]
        return f"{sum(margins) / len(margins):.2f}"

    def code(self, root):
        return [
            "tools.search('read a text file')",
            "import csv\n"
            f"rows = list(csv.DictReader(tools.files.read_text_file(path='{root}/orders.csv')['content'].splitlines()))\n"
            "len(rows), rows[:3]",
            "margins = [float(r['revenue']) - float(r['cost']) for r in rows if r['cost']]\n"
            "final_answer(f'{sum(margins) / len(margins):.2f}')",
        ]


class Logs(Task):
    """Many files, a few numbers."""

    name = "errors in 60 logs"
    what = "Which service logged most errors in {root}/logs, and how many?"

    def prepare(self, root):
        r, count = random.Random(3), {}
        services = ["billing", "search", "mail", "login", "export"]
        for day in range(60):
            lines = []
            for i in range(40):
                service, is_error = r.choice(services), r.random() < 0.08
                count[service] = count.get(service, 0) + is_error
                lines.append(f"2026-03-{day % 28 + 1:02d}T{i // 2:02d}:{i % 2 * 30:02d}:00Z {'ERROR' if is_error else 'INFO'} {service} "
                             f"request {r.randrange(10**6):06d} took {r.randrange(1, 900)} ms")
            put(root, f"logs/{day:02d}.log", "\n".join(lines) + "\n")
        best = max(count, key=count.get)
        return f"{best}: {count[best]}"

    def direct(self, turn, root):
        (listing,) = turn(("files.list_directory", {"path": f"{root}/logs"}))
        paths = [f"{root}/logs/{name}" for name in re.findall(r"\[FILE\] (\S+)", listing)]
        (text,) = turn(("files.read_multiple_files", {"paths": paths}))
        found = re.findall(r"ERROR (\w+)", text)
        best = max(set(found), key=found.count)
        return f"{best}: {found.count(best)}"

    def code(self, root):
        return [
            "tools.search('list a directory'), tools.search('read multiple files')",
            f"listing = tools.files.list_directory(path='{root}/logs')['content']\n"
            "names = [line.split()[-1] for line in listing.splitlines()]\n"
            f"text = tools.files.read_multiple_files(paths=[f'{root}/logs/{{n}}' for n in names])['content']\n"
            "len(names), text[:300]",
            "import re\nfrom collections import Counter\n"
            "best, n = Counter(re.findall(r'ERROR (\\w+)', text)).most_common(1)[0]\n"
            "final_answer(f'{best}: {n}')",
        ]


class Graph(Task):
    """A question to a graph that no tool answers by itself."""

    name = "who knows whom, in 400 entities"
    what = "In memory: how many people of Acme know somebody of Globex?"
    servers = ("memory",)

    def prepare(self, root):
        r, lines, firm = random.Random(4), [], {}
        for i in range(400):
            name = f"{r.choice(PEOPLE)} {i:03d}"
            firm[name] = r.choice(["Acme", "Globex", "Initech"])
            lines.append({"type": "entity", "name": name, "entityType": "person",
                          "observations": [f"works at {firm[name]}", f"born in {r.randrange(1950, 2005)}"]})
        found, names = set(), sorted(firm)
        for _ in range(700):
            a, b = r.sample(names, 2)
            lines.append({"type": "relation", "from": a, "to": b, "relationType": "knows"})
            if (firm[a], firm[b]) == ("Acme", "Globex"):
                found.add(a)
        put(root, "memory.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        return str(len(found))

    def direct(self, turn, root):
        (text,) = turn(("memory.read_graph", {}))
        graph = json.loads(text)
        firm = {e["name"]: e["observations"][0][9:] for e in graph["entities"]}
        return str(len({x["from"] for x in graph["relations"] if (firm[x["from"]], firm[x["to"]]) == ("Acme", "Globex")}))

    def code(self, root):
        return [
            "tools.search('read the knowledge graph')",
            "graph = tools.memory.read_graph()\ngraph['entities'][:2], graph['relations'][:2]",
            "firm = {e['name']: o[9:] for e in graph['entities'] for o in e['observations'] if o.startswith('works at ')}\n"
            "final_answer(str(len({r['from'] for r in graph['relations'] if r['relationType'] == 'knows'\n"
            "                      and firm.get(r['from']) == 'Acme' and firm.get(r['to']) == 'Globex'})))",
        ]


class Debts(Task):
    """Two tables that have to be joined."""

    name = "two tables joined"
    what = "Who owes most, by {root}/customers.json and the unpaid rows of {root}/invoices.csv, and how much?"

    def prepare(self, root):
        r = random.Random(6)
        customers = [{"id": f"c{i:04d}", "name": f"{r.choice(PEOPLE)} Trading {i}", "city": r.choice(WORDS), "since": r.randrange(1999, 2026)}
                     for i in range(400)]
        rows, owed = ["invoice,customer,amount,paid"], {}
        for i in range(1500):
            customer, cents, is_paid = r.choice(customers), r.randrange(1000, 900000), r.random() < 0.8
            rows.append(f"{i:06d},{customer['id']},{cents / 100:.2f},{'yes' if is_paid else 'no'}")
            owed[customer["name"]] = owed.get(customer["name"], 0) + (0 if is_paid else cents)
        put(root, "customers.json", json.dumps(customers, indent=1))
        put(root, "invoices.csv", "\n".join(rows) + "\n")
        name = max(owed, key=owed.get)
        return f"{name}: {owed[name] / 100:.2f}"

    @staticmethod
    def answer_of(customers, rows):
        names = {c["id"]: c["name"] for c in customers}
        owed = {}
        for _, customer, amount, paid in rows:
            if paid == "no":
                owed[names[customer]] = owed.get(names[customer], 0) + float(amount)
        name = max(owed, key=owed.get)
        return f"{name}: {owed[name]:.2f}"

    def direct(self, turn, root):
        customers, invoices = turn(("files.read_text_file", {"path": f"{root}/customers.json"}),
                                   ("files.read_text_file", {"path": f"{root}/invoices.csv"}))
        return self.answer_of(json.loads(customers), [line.split(",") for line in invoices.split("\n")[1:] if line])

    def code(self, root):
        return [
            "tools.search('read a text file')",
            "import csv, json\nread = tools.files.read_text_file\n"
            f"customers = json.loads(read(path='{root}/customers.json')['content'])\n"
            f"invoices = list(csv.DictReader(read(path='{root}/invoices.csv')['content'].splitlines()))\n"
            "customers[:2], invoices[:2]",
            "from collections import Counter\nnames = {c['id']: c['name'] for c in customers}\nowed = Counter()\n"
            "for row in invoices:\n    if row['paid'] == 'no':\n        owed[names[row['customer']]] += float(row['amount'])\n"
            "name, amount = owed.most_common(1)[0]\nfinal_answer(f'{name}: {amount:.2f}')",
        ]


class Manual(Task):
    """One place in a long text."""

    name = "one place in 30,000 words"
    what = "By the manual {root}/manual.txt, what torque has part XR-4471?"

    def prepare(self, root):
        lines = talk(30000, 7).split("\n")
        lines[len(lines) // 3] += " Part XR-4471 is fastened with 38 Nm."
        put(root, "manual.txt", "\n".join(lines))
        return "38 Nm"

    def direct(self, turn, root):
        (text,) = turn(("files.read_text_file", {"path": f"{root}/manual.txt"}))
        return re.search(r"XR-4471 is fastened with (\d+ Nm)", text)[1]

    def code(self, root):
        return [
            "tools.search('read a text file')",
            f"text = tools.files.read_text_file(path='{root}/manual.txt')['content']\n"
            "at = text.find('XR-4471')\nlen(text), text.count('XR-4471'), text[at - 200:at + 200]",
            "import re\nfinal_answer(re.search(r'XR-4471 is fastened with (\\d+ Nm)', text)[1])",
        ]


class Rename(Task):
    """Many calls with small results."""

    name = "move 50 files"
    what = "Move each report in {root}/inbox into {root}/by-year/YEAR/, by the year of the first line. How many are of 2025?"

    def prepare(self, root):
        r, years = random.Random(5), []
        for i in range(50):
            years.append(r.choice([2023, 2024, 2025]))
            put(root, f"inbox/report-{i:02d}.txt", f"Year: {years[-1]}\n" + " ".join(r.choice(WORDS) for _ in range(60)) + "\n")
        return str(years.count(2025))

    def direct(self, turn, root):
        (listing,) = turn(("files.list_directory", {"path": f"{root}/inbox"}))
        names = re.findall(r"\[FILE\] (\S+)", listing)
        heads = turn(*[("files.read_text_file", {"path": f"{root}/inbox/{n}", "head": 1}) for n in names])
        years = [re.match(r"Year: (\d+)", text)[1] for text in heads]
        turn(*[("files.create_directory", {"path": f"{root}/by-year/{y}"}) for y in sorted(set(years))])
        turn(*[("files.move_file", {"source": f"{root}/inbox/{n}", "destination": f"{root}/by-year/{y}/{n}"})
               for n, y in zip(names, years)])
        return str(years.count("2025"))

    def code(self, root):
        return [
            "tools.search('list a directory'), tools.search('read the first lines of a file'), tools.search('move a file'), "
            "tools.search('create a directory')",
            "files = tools.files\n"
            f"names = [line.split()[-1] for line in files.list_directory(path='{root}/inbox')['content'].splitlines()]\n"
            f"heads = [files.read_text_file(path=f'{root}/inbox/{{n}}', head=1)['content'] for n in names]\n"
            "names[:2], heads[:2]",
            "years = [h.split()[1] for h in heads]\n"
            "for year in set(years):\n"
            f"    files.create_directory(path=f'{root}/by-year/{{year}}')\n"
            "for name, year in zip(names, years):\n"
            f"    files.move_file(source=f'{root}/inbox/{{name}}', destination=f'{root}/by-year/{{year}}/{{name}}')\n"
            "final_answer(str(years.count('2025')))",
        ]


class Sums(Task):
    """A chain: each call needs the result of the one before."""

    name = "a chain of 12 calls"
    what = "Start with 7; add 11, 22, 33 and so on to 132, each with the tool get-sum. What comes out?"
    servers = ("everything",)

    def prepare(self, root):
        return str(7 + sum(range(11, 133, 11)))

    def direct(self, turn, root):
        n = 7
        for step in range(11, 133, 11):
            (text,) = turn(("everything.get-sum", {"a": n, "b": step}))
            n = int(re.search(r" is (\d+)", text)[1])
        return str(n)

    def code(self, root):
        return [
            "tools.search('sum of two numbers'), tools.everything.get_sum(a=7, b=11)",
            "import re\nn = 7\n"
            "for step in range(11, 133, 11):\n"
            "    n = int(re.search(r' is (\\d+)', tools.everything.get_sum(a=n, b=step))[1])\n"
            "final_answer(str(n))",
        ]


class Everything(Task):
    """One small call among many tools: what is saved is what the tools say of themselves."""

    name = "one small call, 36 tools there"
    what = "How warm is it in Chicago, by the tool?"
    servers = ("everything", "files", "memory")

    def prepare(self, root):
        return "36"

    def direct(self, turn, root):
        (text,) = turn(("everything.get-structured-content", {"location": "Chicago"}))
        return str(json.loads(text)["temperature"])

    def code(self, root):
        return ["tools.search('temperature of a location')",
                "final_answer(str(tools.everything.get_structured_content(location='Chicago')['temperature']))"]


class One(Everything):
    """The same, and nothing else is there: code costs more than it saves."""

    name = "one small call, 1 tool there"
    servers = ("everything",)
    only = ("get-structured-content",)


class Letter(Task):
    """What has to be read has to be read, in either way."""

    name = "read a letter of 700 words"
    what = "Read {root}/letter.txt: what does the writer ask for?"
    only = ("read_text_file",)

    def prepare(self, root):
        r = random.Random(9)
        text = [" ".join(r.choice(WORDS) for _ in range(14)).capitalize() + "." for _ in range(50)]
        text[30] = "So I kindly ask you to send the two broken lamps back to Trondheim."
        put(root, "letter.txt", "\n".join(text) + "\n")
        return "to send the two broken lamps back to Trondheim"

    def direct(self, turn, root):
        (text,) = turn(("files.read_text_file", {"path": f"{root}/letter.txt"}))
        return re.search(r"ask you (to .*?)\.", text)[1]

    def code(self, root):
        return ["tools.search('read a text file')",
                f"print(tools.files.read_text_file(path='{root}/letter.txt')['content'])",
                None]  # it says so in words


TASKS = [Transcript(), Margin(), Logs(), Graph(), Debts(), Manual(), Rename(), Sums(), Everything(), One(), Letter()]
