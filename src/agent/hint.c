/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hint.h"

#include "base/attr.h"

#include <string.h>

#define NETWORK "There is no network here, and none can be had. Work with the files and the task."
#define NAMES                                                                                      \
	"Is it spelled as where it was defined? Each language has variables of its own; share "    \
	"data through files."

/* The first that fits: of the status, or the name of the error and a part of what it says. */
static const struct {
	const char *status, *name, *part, *hint;
} rows[] = {
	{"error", NULL, "name resolution", NETWORK},
	{"error", NULL, "Network is unreachable", NETWORK},
	{"error", NULL, "Could not resolve host", NETWORK},
	{"error", NULL, "ENOTFOUND", NETWORK},
	{"error", NULL, "EAI_AGAIN", NETWORK},
	{"error", NULL, "ECONNREFUSED", NETWORK},
	{"error", "URLError", "", NETWORK},
	{"error", "gaierror", "", NETWORK},
	{"error", "ConnectionError", "", NETWORK},
	{"error", "ConnectionRefusedError", "", NETWORK},
	{"error", "ModuleNotFoundError", "",
		"Nothing can be installed. See what there is: import pkgutil; "
		"print(sorted(m.name for m in pkgutil.iter_modules()))"},
	{"error", "ImportError", "",
		"The module has no such name in this version: import it and print dir() of it."},
	{"error", NULL, "Cannot find module",
		"Nothing can be installed: only node's own modules are there."},
	{"error", "IndentationError", "", "Write the whole block again, with its indentation."},
	{"error", "SyntaxError", "",
		"The code was not run at all. Look at the line that is named, and write the whole "
		"block again."},
	{"error", "NameError", "", NAMES},
	{"error", "ReferenceError", "", NAMES},
	{"error", "AttributeError", "", "Print dir() of the object to see which names it has."},
	{"error", "KeyError", "", "Print the keys or the columns that there are."},
	{"error", "FileNotFoundError", "",
		"See what is there: import os; print(os.getcwd(), os.listdir())"},
	{"error", "PermissionError", "", "Only /home/user and /tmp can be written."},
	{"error", "EOFError", "", "Nobody types here: input() has nothing to read."},
	{"timeout", NULL, "",
		"Do less at a time: try it on a small part first, or find a cheaper way."},
	{"oom", NULL, "", "Read the data in parts, and keep only what you need."},
	{"killed", NULL, "", "The process ended. Do it in another way."},
};

static const char *member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "";
}

const char *hint_find(const json_t *record, bool was_lost)
{
	const json_t *error = json_object_get(record, "error");
	const char *name = member(error, "name"), *message = member(error, "message");
	const char *printed = member(record, "stderr");
	bool is_name = strcmp(name, "NameError") == 0 || strcmp(name, "ReferenceError") == 0;
	if (was_lost && is_name)
		return "The variables were lost, as you were told: define them again.";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_said = strstr(message, rows[i].part) ||
			(!rows[i].name && strstr(printed, rows[i].part));
		if (strcmp(rows[i].status, member(record, "status")) == 0 &&
			(!rows[i].name || strcmp(rows[i].name, name) == 0) && is_said)
			return rows[i].hint;
	}
	return NULL;
}
