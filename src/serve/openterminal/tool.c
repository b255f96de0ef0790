/*
 * What the front "open-terminal" has a program of the box do: searching, and packing archives.
 *
 * The program is Python, which gets one argument, the task as JSON, and prints one line of JSON. It
 * runs in the box as all programs of the user do, and sees what they see. It has TOOL_MS, looks at
 * no more than N names, and tells no more than ROOM bytes of found lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/openterminal/inside.h"

#include "base/alloc.h"
#include "base/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOOL_MS = 60000, TOOL_ANSWER_BYTES = 1 << 20, TOOL_TASK_BYTES = 64 << 10 };

/* clang-format off */
static const char program[] =
	"import errno, fnmatch, json, os, re, sys, zipfile\n"
	"N, FILE, PART, LINE, ROOM = 200000, 64 << 20, 8 << 20, 2000, 800000\n"
	"t = json.loads(sys.argv[1])\n"
	"root = t.get('path', '/')\n"
	"cut = False\n"
	"told = 0\n"
	"def tell(row):\n"
	"    global told\n"
	"    told += len(json.dumps(row)) + 2\n"
	"    return told <= ROOM\n"
	"def text(s):\n"
	"    return os.fsencode(s).decode('utf-8', 'replace')\n"
	"def walk(top):\n"
	"    global cut\n"
	"    n = 0\n"
	"    for d, dirs, files in os.walk(top):\n"
	"        if not t.get('hidden', True):\n"
	"            dirs[:] = [x for x in dirs if not x.startswith('.')]\n"
	"            files = [x for x in files if not x.startswith('.')]\n"
	"        if d == '/':\n"
	"            dirs[:] = [x for x in dirs if x not in ('dev', 'proc', 'sys')]\n"
	"        dirs.sort()\n"
	"        for name, kind in sorted([(x, 'directory') for x in dirs] + [(x, 'file') for x in files]):\n"
	"            n += 1\n"
	"            if n > N:\n"
	"                cut = True\n"
	"                return\n"
	"            yield os.path.join(d, name), name, kind\n"
	"def lines(path):\n"
	"    global cut\n"
	"    try:\n"
	"        if not os.path.isfile(path):\n"
	"            return\n"
	"        if os.path.getsize(path) > FILE:\n"
	"            cut = True\n"
	"            return\n"
	"        left = FILE\n" /* files of /proc have no size, and some have no end */
	"        with open(path, encoding='utf-8') as f:\n"
	"            for number, line in enumerate(iter(lambda: f.readline(PART), ''), 1):\n"
	"                left -= len(line)\n"
	"                if left < 0:\n"
	"                    cut = True\n"
	"                    return\n"
	"                yield number, line\n"
	"    except (OSError, ValueError):\n"
	"        return\n"
	"def grep():\n"
	"    global cut\n"
	"    flags = re.I if t['fold'] else 0\n"
	"    try:\n"
	"        pattern = re.compile(t['query'] if t['regex'] else re.escape(t['query']), flags)\n"
	"    except (re.error, OverflowError, RecursionError) as e:\n"
	"        return {'error': 'Invalid regex: %s' % e}\n"
	"    if not os.path.exists(root):\n"
	"        return {'missing': True}\n"
	"    found = []\n"
	"    globs = t['include']\n"
	"    files = [root] if os.path.isfile(root) else (\n"
	"        p for p, n, k in walk(root)\n"
	"        if k == 'file' and (not globs or any(fnmatch.fnmatch(n, g) for g in globs)))\n"
	"    for path in files:\n"
	"        for number, line in lines(path):\n"
	"            if not pattern.search(line):\n"
	"                continue\n"
	"            if len(found) >= t['max']:\n"
	"                return {'matches': found, 'truncated': True}\n"
	"            row = {'file': text(path)}\n"
	"            if t['per_line']:\n"
	"                row.update(line=number, content=line.rstrip('\\r\\n')[:LINE])\n"
	"            if not tell(row):\n"
	"                return {'matches': found, 'truncated': True}\n"
	"            found.append(row)\n"
	"            if not t['per_line']:\n"
	"                break\n"
	"    return {'matches': found, 'truncated': cut}\n"
	"def about(path):\n"
	"    s = os.stat(path)\n"
	"    return {'size': s.st_size, 'modified': s.st_mtime}\n"
	"def glob():\n"
	"    if not os.path.isdir(root):\n"
	"        return {'missing': True}\n"
	"    found = []\n"
	"    for path, name, kind in walk(root):\n"
	"        rel = os.path.relpath(path, root)\n"
	"        is_in = lambda g: fnmatch.fnmatch(name, g) or fnmatch.fnmatch(rel, g)\n"
	"        if t['type'] not in ('any', kind) or not is_in(t['pattern']) or any(map(is_in, t['exclude'])):\n"
	"            continue\n"
	"        if len(found) >= t['max']:\n"
	"            return {'matches': found, 'truncated': True}\n"
	"        try:\n"
	"            found.append({'path': text(rel), 'type': kind, **about(path)})\n"
	"        except OSError:\n"
	"            pass\n"
	"    return {'matches': found, 'truncated': cut}\n"
	"def search():\n"
	"    if not os.path.isdir(root):\n"
	"        return {'missing': True}\n"
	"    q = t['query'].strip().lower()\n"
	"    found = []\n"
	"    for path, name, kind in walk(root):\n"
	"        low = name.lower()\n"
	"        if t['type'] in ('any', kind) and q in low:\n"
	"            rank = 0 if low == q else 1 if low.startswith(q) else 2\n"
	"            found.append(((rank, len(name), path.lower()), path, name, kind))\n"
	"    rows = []\n"
	"    for _, path, name, kind in sorted(found)[:t['max']]:\n"
	"        try:\n"
	"            rows.append({'path': text(path), 'name': text(name), 'type': kind, **about(path)})\n"
	"        except OSError:\n"
	"            pass\n"
	"    return {'results': rows}\n"
	"def matches():\n"
	"    if not os.path.isdir(root):\n"
	"        return {'missing': True}\n"
	"    q = t['query'].lower()\n"
	"    found = []\n"
	"    for path, name, kind in walk(root):\n"
	"        rel = os.path.relpath(path, root)\n"
	"        low = name.lower()\n"
	"        score = (0 if low == q else 1 if low.startswith(q) else 2 if q in low\n"
	"                 else 3 if q in rel.lower() else 4)\n"
	"        hits = []\n"
	"        for number, line in lines(path) if kind == 'file' and not os.path.islink(path) else ():\n"
	"            at = line.lower().find(q)\n"
	"            if at >= 0:\n"
	"                column = len(line[:at].encode('utf-16-le')) // 2 + 1\n"
	"                hits.append({'line': number, 'column': column, 'text': line.rstrip('\\r\\n')[:LINE]})\n"
	"                if len(hits) == 3:\n"
	"                    break\n"
	"        if score < 4 or hits:\n"
	"            found.append(((score, len(rel), rel.lower()), {\n"
	"                'path': text(path), 'relative_path': text(rel), 'name': text(name), 'type': kind,\n"
	"                'name_match': score < 4, 'content_matches': hits}))\n"
	"    found.sort(key=lambda f: f[0])\n"
	"    first, last = t['offset'], t['offset'] + t['max']\n"
	"    rows = []\n"
	"    for _, row in found[first:last]:\n"
	"        if rows and not tell(row):\n"
	"            last = first + len(rows)\n"
	"            break\n"
	"        rows.append(row)\n"
	"    return {'results': rows, 'next_offset': last if len(found) > last else None}\n"
	"def pack():\n"
	"    paths = t['paths']\n"
	"    for path in paths:\n"
	"        if not os.path.exists(path):\n"
	"            return {'missing': path}\n"
	"    name = os.path.basename(paths[0]) or 'archive' if len(paths) == 1 else 'download'\n"
	"    out, left = t['out'], []\n"
	"    def add(z, full, name):\n"
	"        if os.path.isfile(full) and full != out:\n"
	"            try:\n"
	"                z.write(full, text(name))\n"
	"            except OSError as e:\n"
	"                if e.errno in (errno.ENOSPC, errno.EDQUOT):\n"
	"                    raise\n"
	"                left.append('%s: %s' % (text(full), e.strerror))\n"
	"    try:\n"
	"        with open(out, 'xb') as f, zipfile.ZipFile(f, 'w', zipfile.ZIP_DEFLATED, strict_timestamps=False) as z:\n"
	"            for path in paths:\n"
	"                base = os.path.basename(path)\n"
	"                add(z, path, base)\n"
	"                for full, _, kind in walk(path) if os.path.isdir(path) else ():\n"
	"                    add(z, full, os.path.join(base, os.path.relpath(full, path)))\n"
	"            if cut:\n"
	"                left.append('more than %d files' % N)\n"
	"            if left:\n"
	"                z.writestr('NOT-IN-THIS-ARCHIVE.txt', '\\n'.join(left) + '\\n')\n"
	"    except (OSError, ValueError) as e:\n"
	"        return {'error': 'the archive cannot be made: %s' % e}\n"
	"    return {'path': out, 'name': text(name)}\n"
	"do = {'grep': grep, 'glob': glob, 'search': search, 'matches': matches, 'zip': pack}\n"
	"print(json.dumps(do[t['op']]()))\n";
/* clang-format on */

/* A run of the program. */
struct tool {
	struct buf answer;
	void (*then)(struct front_call *c, const json_t *answer, const struct err *err);
};

static void on_event(struct front_call *c, const json_t *event)
{
	struct tool *t = c->own;
	const json_t *data = json_object_get(event, "data");
	/* JSON of the program is ASCII; anything else is not its answer. */
	if (strcmp(json_get_text(event, "event"), "output") == 0 &&
		strcmp(json_get_text(event, "stream"), "stdout") == 0 &&
		strcmp(json_get_text(event, "encoding"), "base64") != 0)
		(void)buf_append(&t->answer, json_string_value(data), json_string_length(data));
}

static const struct front_events events = {.event = on_event};

/* Remove the archive, which may be a part of one. */
static void remove_output(const struct front_call *c)
{
	const struct ot_box *b = ot_find(c);
	const json_t *path = json_object_get(c->kept, "out");
	if (b && path)
		operation_tell(b->context, "path.remove",
			json_need(json_pack("{s:s, s:O}", "session", b->session, "path", path)));
}

static void on_over(struct front_call *c, const json_t *about, const struct err *err)
{
	struct tool *t = take_ptr(c->own);
	struct err why;
	cleanup_json json_t *answer = buf_error(&t->answer) == 0
		? json_loadb(buf_str(&t->answer), t->answer.bytes, JSON_ALLOW_NUL, NULL)
		: NULL;
	if (err)
		why = *err;
	else if (json_get_bool(about, "timed_out"))
		(void)err_fail(&why, ERR_LIMIT, "search in a smaller part",
			"it has taken over %d s", TOOL_MS / 1000);
	else
		(void)err_fail(&why, ERR_RUNTIME, "is there python3 in the box?",
			"the program that searches has failed");
	if (!c->x || !json_get_text(answer, "path")[0])
		remove_output(c);
	if (!ot_is_left(c))
		t->then(c, json_is_object(answer) ? answer : NULL, &why);
	buf_done(&t->answer);
	free(t);
}

void ot_run_tool(struct front_call *c, json_t *task,
	void (*then)(struct front_call *c, const json_t *answer, const struct err *err))
{
	struct tool *t = xnew(struct tool);
	json_t *params = ot_params(c);
	char *text = json_dumps(json_need(task), JSON_COMPACT | JSON_ENSURE_ASCII);
	*t = (struct tool){.answer = BUF_INIT(TOOL_ANSWER_BYTES), .then = then};
	json_decref(task);
	if (!text || strlen(text) > TOOL_TASK_BYTES) {
		free(text);
		free(t);
		json_decref(params);
		ot_refuse(c, 413, "the request is too long");
		return;
	}
	c->own = t;
	json_put_new(
		params, "argv", json_pack("[s, s, s, s, s]", "python3", "-I", "-c", program, text));
	json_put_text(params, "cwd", OT_HOME);
	json_put_int(params, "timeout_ms", TOOL_MS);
	json_put_bool(params, "attach", true);
	json_put_bool(params, "stream", true);
	json_put_bool(params, "hold", true);
	free(text);
	front_follow(c, "process.start", params, &events, on_over);
}
