/* The command `retort doctor`. SPDX-License-Identifier: Apache-2.0 */
#include "api/once/doctor.h"
#include "api/text/json.h"
#include "base/json.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct doctor_args {
	bool json, help;
	int color;
};

static const struct opt doctor_opts[] = {
	{.name = "json",
		OPT_INTO_FLAG(struct doctor_args, json),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print one JSON object"},
	CMD_COMMON_OPTS(struct doctor_args),
};

static void print_row(const json_t *row, bool color)
{
	static const struct {
		const char *state, *color;
	} looks[] = {{"ok", "\033[32m"}, {"weak", "\033[33m"}, {"missing", "\033[31m"}};
	const char *state = json_get_text(row, "state"), *on = "", *off = "";
	for (size_t i = 0; color && i < ARRAY_LEN(looks); i++)
		if (strcmp(looks[i].state, state) == 0) {
			on = looks[i].color;
			off = "\033[0m";
		}
	const char *instead = json_get_text(row, "instead"), *hint = json_get_text(row, "hint");
	printf("%s%-8s%s %-22s %s%s%s\n", on, state, off, json_get_text(row, "name"),
		json_get_text(row, "what"), instead[0] ? ": " : "", instead);
	if (hint[0])
		printf("%32s%s\n", "→ ", hint);
}

static int doctor_main(int argc, char **argv)
{
	struct doctor_args args = {0};
	struct opt_set set;
	struct err err = {0};
	json_t *found = NULL, *row;
	size_t i;
	int at = cmd_parse(&cmd_doctor, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = at < 0 ? at : doctor_check(&found, &err);
	if (r < 0)
		return cli_fail(&err, args.json);
	if (args.json) {
		char *text = json_text(found, JSON_INDENT(1));
		printf("%s\n", text ? text : "{}");
		free(text);
	} else {
		bool color = term_has_color(STDOUT_FILENO, (enum term_color)args.color);
		json_array_foreach(json_object_get(found, "checks"), i, row) print_row(row, color);
		printf("\n%s\n",
			r ? "This host can run untrusted code in boxes."
			  : "This host cannot run untrusted code in boxes yet: see → above.");
	}
	json_decref(found);
	return r ? 0 : 1;
}

static const char *const usage[] = {"doctor [--json]", NULL};

static const struct cmd_example examples[] = {
	{"check this host", "retort doctor"},
	{"print the same for a program to read", "retort doctor --json"},
};

static const struct cmd_exit exits[] = {
	{"0", "boxes work and are isolated, perhaps with a weak limit"},
	{"1", "boxes do not work: the lines marked missing say why"},
	{"2", "usage error"},
};

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "Check what this host can enforce, and how to fix the rest",
	.usage = usage,
	.text = "Checks each mechanism that boxes need, then makes a real box and checks it from "
		"inside. \"weak\" means that a weaker mechanism is used instead; the limits in "
		"each result say so as well.",
	.opts = doctor_opts,
	.n_opts = ARRAY_LEN(doctor_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.run = doctor_main,
};
