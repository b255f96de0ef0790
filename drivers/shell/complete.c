/*
 * Completions by bash's compgen. It runs in the live shell, and so it knows the shell's functions,
 * aliases and variables.
 *
 * The last word of the text is completed. It begins after the last space, operator or quote. After
 * `$` it is completed as a variable, at the start of a command as a command, and otherwise as a
 * file.
 *
 * compgen runs in a subshell, which first writes its process id to the report. If compgen takes too
 * long, the driver kills this subshell. If the shell itself does not answer after that, the driver
 * kills the shell.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "complete.h"

#include "channel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_MS = 3000 };

static bool is_in(const json_t *names, const json_t *name)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		if (json_equal(json_array_get(names, i), name))
			return true;
	return false;
}

static json_t *collect(const struct buf *report)
{
	json_t *names = json_array();
	/* The report's first line is the process id of the subshell. */
	const char *at = strchr(buf_str(report), '\n');
	while (at && *++at && json_array_size(names) < COMPLETE_NAMES_MAX) {
		size_t n = strcspn(at, "\n");
		json_t *name = channel_text(at, n);
		if (name && !is_in(names, name))
			(void)json_array_append(names, name);
		json_decref(name);
		at += n;
		at = *at ? at : NULL;
	}
	return names;
}

/* Return whether the word at @word is the first word of a command. */
static bool is_command(const char *text, const char *word)
{
	while (word > text && strchr(" \t", word[-1]))
		word--;
	return word == text || strchr("\n;|&({`", word[-1]);
}

json_t *complete_names(struct bash *b, const char *text)
{
	const char *word = text;
	for (const char *at = text; *at; at++)
		if (strchr(" \t\n;|&()<>='\"`", *at) ||
			(*at == '{' && (at == text || at[-1] != '$')))
			word = at + 1;
	const char *prefix = word[0] != '$' ? "" : word[1] == '{' ? "${" : "$";
	const char *actions = *prefix			       ? "-A variable"
		: is_command(text, word) && !strchr(word, '/') ? "-A function -A alias -c"
							       : "-f";
	if (strlen(word) > COMPLETE_WORD_BYTES || b->pid == 0)
		return json_array();
	cleanup_buf struct buf line = BUF_INIT(4096), report = BUF_INIT(REPORT_BYTES_MAX + 65536);
	/* Run compgen in a subshell, which can be killed when it takes too long. */
	int r = buf_addf(&line, "(\\builtin echo $BASHPID;\\builtin compgen %s -- ", actions);
	r = r ? r : state_quote(&line, word + strlen(prefix), strlen(word + strlen(prefix)));
	r = r ? r : buf_addf(&line, ") 2>/dev/null 1<>/proc/%d/fd/%d", (int)getpid(), b->report_fd);
	enum bash_end end = r < 0 ? BASH_RAN : bash_ask(b, buf_str(&line), ASK_MS);
	(void)bash_report(b, &report);
	report.bytes = strlen(buf_str(&report));
	if (end == BASH_LATE) {
		long child = strtol(buf_str(&report), NULL, 10);
		if (child > 1 && bash_is_child(b, (pid_t)child))
			(void)kill((pid_t)child, SIGKILL);
		if (bash_ask(b, "", ASK_MS) != BASH_RAN)
			bash_kill(b);
	}
	return r < 0 ? json_array() : collect(&report);
}
