/* What a kernel says of itself: its language, its history, and that it has no widgets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "serve/jupyter/inside.h"

#include <stdio.h>
#include <string.h>

/* A language, as notebooks want to know it. */
struct language_row {
	const char *runtime, *name, *version, *mime, *extension, *lexer, *mode, *exporter;
};

static const struct language_row languages[] = {
	{"python", "python", "3", "text/x-python", ".py", "ipython3", NULL, "python"},
	{"javascript", "javascript", "ES2022", "application/javascript", ".js", "javascript",
		"javascript", "javascript"},
	{"sql", "sql", "SQLite 3", "application/sql", ".sql", "sql", "sql", "script"},
	{"shell", "bash", "5", "application/x-sh", ".sh", "bash", "shell", "script"},
};

static json_t *language_json(const char *runtime)
{
	const struct language_row *row = languages;
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (strcmp(languages[i].runtime, runtime) == 0)
			row = &languages[i];
	json_t *mode = row->mode ? json_string(row->mode)
				 : json_pack("{s:s, s:i}", "name", "ipython", "version", 3);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s}", "name", row->name, "version",
		row->version, "mimetype", row->mime, "file_extension", row->extension,
		"pygments_lexer", row->lexer, "codemirror_mode", mode, "nbconvert_exporter",
		row->exporter);
}

void info_kernel(struct kernel *k, struct kernel_request *r)
{
	char banner[KERNEL_NAME_BYTES];
	snprintf(banner, sizeof banner, "retort %s: cells run in a box; %%help tells more",
		k->config.version);
	kernel_reply(k, r, "kernel_info_reply",
		json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:b, s:[], s:[]}", "status", "ok",
			"protocol_version", JUPYTER_VERSION, "implementation", "retort",
			"implementation_version", k->config.version, "language_info",
			language_json(k->runtime), "banner", banner, "debugger", 0, "help_links",
			"supported_features"),
		NULL);
}

void info_comms(struct kernel *k, struct kernel_request *r)
{
	kernel_reply(
		k, r, "comm_info_reply", json_pack("{s:s, s:{}}", "status", "ok", "comms"), NULL);
}

void info_comm_open(struct kernel *k, struct kernel_request *r)
{
	static const char text[] = "retort: widgets that talk to the kernel do not work here\n";
	const json_t *id = json_object_get(r->m.content, "comm_id");
	if (!json_is_string(id))
		return;
	if (!k->has_told_comm)
		kernel_print(k, r, "stderr", text, strlen(text));
	k->has_told_comm = true;
	kernel_publish(k, r, "comm_close", json_pack("{s:O, s:{}}", "comm_id", id, "data"));
}

void info_history(struct kernel *k, struct kernel_request *r)
{
	kernel_reply(k, r, "history_reply", cell_log_answer(&k->log, r->m.content), NULL);
}
