/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/hint.h"

#include "agent/answer/refusal.h"
#include "base/json.h"

#include <string.h>
#include <strings.h>

/* Indexes into `texts`, which has one text for each kind of reader. In the texts for PACKAGES,
 * "%s" is replaced by the packages that are installed and the name of the one that was probably
 * meant. */
enum hint_text { NETWORK = 1, PACKAGES, STDIN, PLACE, PYTHON, DISK, MEMORY, TEXT_END_ };

enum { MODULE_BYTES = 128 };

#define CALLED	 "most hosts call it python3; in a step of Python it is sys.executable"
#define LIMITED	 "the files of a box have limits: "
#define KILLED	 "the memory limit ended a process of this step: "
#define NO_PLACE "this path does not exist in a box: the working directory is /home/user"

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): long texts go over two lines. */
static const char *const texts[TEXT_END_][HINT_READER_END_] = {
	[NETWORK] = {"There is no network here, and you cannot get one. Work with the files and the "
		     "task.",
		"there is no network in the sandbox for this: work with the files and packages that are "
		"there; whoever starts retort can allow hosts: retort mcp --net HOST",
		"the box has no network for this: allow hosts with session.create, \"net\", or with "
		"`session.net`; or give it files with volumes or `file.write`",
		"the box has no network for this: allow hosts with --net HOST, or give it files with "
		"--volume",
		"the box has no network for this: allow hosts with `retort session net SESSION HOST`, or "
		"give it files with `retort session files SESSION --put`",
		"the box has no network for this: allow hosts with retort repl --net HOST, or give it files "
		"with %put"},
	[PACKAGES] = {"Nothing can be installed without a network.%s See what else there is: import pkgutil; "
		      "print(sorted(m.name for m in pkgutil.iter_modules()))",
		"nothing can be installed here without a network.%s Whoever starts retort can give "
		"more: retort mcp --net pypi, or --python VENV",
		"nothing can be installed in a box without a network.%s Give it one with "
		"`session.net`, \"net\": [\"pypi\"]; or a virtual environment: session.create, "
		"\"python\"",
		"nothing can be installed in a box without a network.%s Give it one for packages: "
		"--net pypi; or a virtual environment of this host: --python VENV",
		"nothing can be installed in a box without a network.%s Give it one for packages: "
		"`retort session net SESSION --add pypi`; or a new session a virtual environment of "
		"this host: retort session new --python VENV",
		"nothing can be installed in a box without a network.%s Give it one for packages: "
		"retort repl --net pypi; or a virtual environment of this host: retort repl "
		"--python VENV"},
	[STDIN] = {"Nobody types here: input() has nothing to read.",
		"nobody types here: call run_code with interactive true, then run_wait with stdin",
		"there was no more input: give it with \"stdin\", or with \"stdin_open\" and "
		"`step.input`",
		"there was no more input: give it with --stdin FILE, or --stdin - for a pipe",
		"there was no more input: give it with --stdin FILE, or --stdin - for a pipe",
		"there was no more input: Ctrl-D ends it, and so does the end of a pipe or file"},
	[PLACE] = {"This path does not exist here: the working directory is /home/user, and files "
		   "are below it.",
		"this path does not exist here: the working directory is /home/user; list_files "
		"shows its files",
		NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE},
	[PYTHON] = {"Most hosts call it python3; in a step of Python it is sys.executable.", CALLED,
		CALLED, CALLED, CALLED, CALLED},
	[MEMORY] =
		{"The memory limit ended a process of this step. Read the data in parts, and keep "
		 "only what you need.",
			KILLED
			"read the data in parts; whoever starts retort can give more: retort mcp "
			"--memory SIZE",
			KILLED "a new session can have more: session.create, limits.memory_bytes",
			KILLED "give it more with --memory",
			KILLED "a new session can have more: retort session new --memory SIZE",
			KILLED "start with more: retort repl --memory SIZE"},
	[DISK] = {"The files of a box have limits: of their size, all together and each, and of their "
		  "number. Remove what is no longer needed, or write less.",
		LIMITED "remove what is no longer needed; whoever starts retort can give more: "
			"retort mcp --disk SIZE --inodes N --file-size SIZE",
		LIMITED
		"a new session can have more: session.create, limits.disk_bytes, inodes and "
		"file_bytes",
		LIMITED "give more with --disk SIZE, --inodes N, or --file-size SIZE for one file",
		LIMITED "a new session can have more: retort session new --disk SIZE --inodes N "
			"--file-size SIZE",
		LIMITED "start with more: retort repl --disk SIZE --inodes N --file-size SIZE"},
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

#define NAMES                                                                                      \
	"Is it spelled as where it was defined? Each language has variables of its own; share "    \
	"data through files."

/*
 * The hints. If several rows fit the record of a step, the first of these rows is used. A row fits
 * if
 * - `status` is the status of the step, or NULL;
 * - `name` is the name of the step's error, or NULL;
 * - `part` occurs in the message of the step's error, or is "".
 * If `name` is NULL, `part` may also occur outside the message, because some programs do not report
 * their errors in the message:
 * - in stderr, if the step is a shell command or a child process failed;
 * - in the traceback, if the step is JavaScript.
 * A row has either `text`, an index into `texts`, or `agent`, a text for models in our own loop
 * only. A row with neither `text` nor `agent` means that no hint is given.
 */
static const struct {
	const char *status, *name, *part;
	enum hint_text text;
	const char *agent;
} rows[] = {
	{"error", NULL, "name resolution", NETWORK},
	{"error", NULL, "Name or service not known", NETWORK},
	{"error", NULL, "Failed to resolve", NETWORK},
	{"error", NULL, "Network is unreachable", NETWORK},
	{"error", NULL, "Could not resolve host", NETWORK},
	{"error", NULL, "unable to resolve host", NETWORK},
	{"error", NULL, "ENOTFOUND", NETWORK},
	{"error", NULL, "ENETUNREACH", NETWORK},
	{"error", NULL, "EAI_AGAIN", NETWORK},
	{"error", "gaierror", "", NETWORK},
	{"error", NULL, "File too large", DISK},
	{"error", NULL, "File size limit exceeded", DISK},
	{"error", NULL, "EFBIG", DISK},
	{"error", NULL, "No space left on device", DISK},
	{"error", NULL, "ENOSPC", DISK},
	{"error", NULL, "database or disk is full", DISK},
	{"error", "ModuleNotFoundError", "", PACKAGES},
	{"error", "ImportError", "Use pip or conda", PACKAGES},
	{"error", "ImportError", "pip install", PACKAGES},
	{"error", "CalledProcessError", "'pip", PACKAGES},
	{"error", NULL, "No module named pip", PACKAGES},
	{"error", "ImportError", "", 0,
		"The module has no such name in this version: import it and print dir() of it."},
	{"error", NULL, "Cannot find module '.", 0, NULL},
	{"error", NULL, "Cannot find module", 0,
		"Nothing can be installed without a network: only node's own modules are there."},
	{"error", "IndentationError", "", 0, "Write the whole block again, with its indentation."},
	{"error", "SyntaxError", "", 0,
		"The code was not run at all. Look at the line that is named, and write the whole "
		"block again."},
	{"error", "NameError", "", 0, NAMES},
	{"error", "ReferenceError", "", 0, NAMES},
	{"error", "AttributeError", "", 0, "Print dir() of the object to see which names it has."},
	{"error", "KeyError", "", 0, "Print the keys or the columns that there are."},
	{"error", NULL, "No such file or directory: '/mnt/", PLACE},
	{"error", NULL, "No such file or directory: '/content/", PLACE},
	{"error", NULL, "No such file or directory: '/kaggle/", PLACE},
	{"error", NULL, "No such file or directory: '/Users/", PLACE},
	{"error", NULL, "No such file or directory: '/workspace/", PLACE},
	{"error", NULL, "No such file or directory: '/app/", PLACE},
	{"error", NULL, "no such file or directory, open '/mnt/", PLACE},
	{"error", NULL, "/mnt/data: No such file or directory", PLACE},
	{"error", NULL, "No such file or directory: 'python'", PYTHON},
	{"error", "FileNotFoundError", "", 0,
		"See what is there: import os; print(os.getcwd(), os.listdir())"},
	{"error", "PermissionError", "", 0, "Only /home/user and /tmp can be written."},
	{"error", "EOFError", "EOF when reading a line", STDIN},
	{"timeout", NULL, "", 0,
		"Do less at a time: try it on a small part first, or find a cheaper way."},
	{"oom", NULL, "", 0, "Read the data in parts, and keep only what you need."},
	{"killed", NULL, "", 0, "The process ended. Do it in another way."},
	/* The rows below have no `status`, so they fit a step with any status. Their `part`,
	 * such as ": python: not found", may occur in the message of the step's error, in stdout
	 * or in stderr. */
	{NULL, NULL, "externally-managed-environment", PACKAGES},
	{NULL, NULL, ": python: not found", PYTHON},
	{NULL, NULL, ": python: command not found", PYTHON},
};

static bool has(const json_t *object, const char *name, const char *part)
{
	const json_t *text = json_object_get(object, name);
	return json_is_string(text) &&
		memmem(json_string_value(text), json_string_length(text), part, strlen(part));
}

/* Return whether the traceback contains @part. Node wraps the cause of an error in another
 * error, so only the traceback shows the cause. */
static bool is_in_trace(const json_t *error, const char *part)
{
	size_t i;
	json_t *line;
	json_array_foreach(json_object_get(error, "traceback"), i, line)
	{
		if (json_is_string(line) && strstr(json_string_value(line), part))
			return true;
	}
	return false;
}

static bool is_said(const json_t *record, size_t row)
{
	const json_t *error = json_object_get(record, "error");
	const char *name = json_get_text(error, "name"),
		   *runtime = json_get_text(record, "runtime");
	const char *part = rows[row].part;
	bool is_child = strcmp(runtime, "shell") == 0 || strcmp(name, "CalledProcessError") == 0;
	if (!*part || has(error, "message", part))
		return true;
	if (!rows[row].status)
		return has(record, "stderr", part) || has(record, "stdout", part);
	if (rows[row].name)
		return false;
	return (is_child && has(record, "stderr", part)) ||
		(strcmp(runtime, "javascript") == 0 && is_in_trace(error, part));
}

static bool fits(const json_t *record, size_t row)
{
	const json_t *error = json_object_get(record, "error");
	if (rows[row].status && strcmp(rows[row].status, json_get_text(record, "status")) != 0)
		return false;
	if (rows[row].name && strcmp(rows[row].name, json_get_text(error, "name")) != 0)
		return false;
	return is_said(record, row);
}

/* Append which packages are installed, and which one was probably meant. */
static void add_packages(struct buf *out, const char *packages, const char *near)
{
	if (packages && packages[0])
		buf_addf(out, " There is %s.", packages);
	if (near[0])
		buf_addf(out, " Did you mean %s?", near);
}

/* For the error "No module named 'PIL.Imag'", write that PIL exists but has no submodule Imag.
 * PIL must exist, because Python imports it before it looks for PIL.Imag. */
static bool add_submodule(struct buf *out, const json_t *error)
{
	static const char begin[] = "No module named '";
	const char *message = json_get_text(error, "message");
	const char *at = strncmp(message, begin, strlen(begin)) == 0 ? message + strlen(begin) : "";
	size_t bytes = strcspn(at, "'");
	const char *dot = memrchr(at, '.', bytes);
	if (!dot || bytes > MODULE_BYTES)
		return false;
	int parent = (int)(dot - at);
	return buf_addf(out,
		       "%.*s is there, but it has no %.*s. See what it has: import pkgutil, %.*s; "
		       "print([m.name for m in pkgutil.iter_modules(%.*s.__path__)])",
		       parent, at, (int)bytes - parent - 1, dot + 1, parent, at, parent, at) == 0;
}

static bool add(
	struct buf *out, const json_t *record, const char *text, const struct hint_about *about)
{
	const char *gap = strstr(text, "%s");
	if (!gap)
		return buf_add(out, text) == 0;
	buf_append(out, text, (size_t)(gap - text));
	add_packages(out, about->packages, json_get_text(json_object_get(record, "error"), "near"));
	return buf_add(out, gap + 2) == 0;
}

/* Write that the file @near exists, which may be the one that the step was looking for. */
static bool add_near(struct buf *out, const json_t *record, const char *near)
{
	const char *dot = strrchr(near, '.');
	bool is_sql = strcmp(json_get_text(record, "runtime"), "sql") == 0;
	if (!is_sql)
		return buf_addf(out, "there is /home/user/%s", near) == 0;
	if (dot && strcasecmp(dot, ".csv") != 0 && strcasecmp(dot, ".tsv") != 0)
		return buf_addf(out,
			       "there is a database %s: ATTACH '%s' AS other; its tables are "
			       "other.NAME then",
			       near, near) == 0;
	return buf_addf(out, "there is %s: FROM \"%s\"", near, near) == 0;
}

static bool add_row(
	struct buf *out, const json_t *record, size_t row, const struct hint_about *about)
{
	const char *text = rows[row].text     ? texts[rows[row].text][about->reader]
		: about->reader == HINT_AGENT ? rows[row].agent
					      : NULL;
	return text && add(out, record, text, about);
}

/* Return whether the kernel ended a process other than the driver for lack of memory. A command in
 * a pipeline, for instance, whose end the shell reports without the cause. */
static bool has_killed_part(const json_t *record)
{
	const json_t *kills = json_object_get(json_object_get(record, "usage"), "oom_kills");
	return json_integer_value(kills) > 0 && strcmp(json_get_text(record, "status"), "oom") != 0;
}

bool hint_find(struct buf *out, const json_t *record, const struct hint_about *about)
{
	const char *name = json_get_text(json_object_get(record, "error"), "name");
	const char *near = json_get_text(json_object_get(record, "error"), "near");
	cleanup_buf struct buf refused = BUF_INIT(HINT_BYTES * 8);
	bool is_name = strcmp(name, "NameError") == 0 || strcmp(name, "ReferenceError") == 0;
	if (about->was_lost && is_name)
		return buf_add(out,
			       "The state may differ from what it was, as you were told: define again "
			       "what is missing.") == 0;
	bool is_module = strcmp(name, "ModuleNotFoundError") == 0;
	if (is_module && add_submodule(out, json_object_get(record, "error")))
		return true;
	/* If the text of add_submodule() did not fit, it has left an error in the buffer. Clear
	 * the error, because another hint may fit. */
	buf_cut(out, out->bytes);
	if (*near && !is_module)
		return add_near(out, record, near);
	/* The name of a host that was refused says more than "name resolution failed". */
	if (refusal_add(&refused, record, ""))
		return false;
	if (has_killed_part(record))
		return add(out, record, texts[MEMORY][about->reader], about);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (fits(record, i))
			return add_row(out, record, i, about);
	return false;
}
