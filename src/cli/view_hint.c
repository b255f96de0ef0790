/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view_hint.h"

#include "base/utf8.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HINT_MAX_BYTES = 1024 };

/* Return whether @path is the user's own: relative, or below the working or home directory. */
static bool is_own(const char *path)
{
	char here[PATH_MAX];
	const char *const places[] = {getcwd(here, sizeof here), getenv("HOME")};
	bool is_found = path[0] != '/';
	for (size_t i = 0; i < ARRAY_LEN(places) && !is_found; i++) {
		size_t n = places[i] ? strlen(places[i]) : 0;
		is_found = n > 1 && strncmp(path, places[i], n) == 0 && path[n] == '/';
	}
	return is_found;
}

/* The program has tried to open @name. If the file @path exists on the host, report that the box
 * does not see it, and how to pass the file to the box. Returns: whether that was reported. */
static bool tell_here(const struct view_options *options, const char *path, const char *name)
{
	static const char *const give[PLACE_END_] = {
		"-v ", "retort session files SESSION --put ", "%put "};
	cleanup_buf struct buf safe = BUF_INIT(4 * PATH_MAX), meant = BUF_INIT(4 * PATH_MAX);
	if (strchr(path, ':') || !is_own(path) || access(path, R_OK) < 0 ||
		utf8_escape_terminal(&safe, path, strlen(path), UTF8_ONE_LINE) < 0 ||
		utf8_escape_terminal(&meant, name, strlen(name), UTF8_ONE_LINE) < 0)
		return false;
	bool is_run = options->place == PLACE_RUN;
	fprintf(stderr, "retort: %s is here, but the box does not see it: %s%s%s%s\n",
		buf_str(&safe), give[options->place], buf_str(&safe), is_run ? ":" : "",
		is_run ? buf_str(&meant) : "");
	return true;
}

/* @message names a missing file or module in quotes. Append @ending, such as ".py", to the name.
 * If that file is in the working directory or beside the program, report that the box does not
 * see it. Returns: whether that was reported. */
static bool show_missing(
	const struct view_options *options, const char *message, const char *ending)
{
	const char *program = options->program, *slash = program ? strrchr(program, '/') : NULL;
	char name[PATH_MAX], beside[2 * PATH_MAX];
	const char *end = strrchr(message, '\''), *at = end;
	while (at && at > message && at[-1] != '\'')
		at--;
	if (!at || at == message || end == at || end - at >= PATH_MAX)
		return false;
	snprintf(name, sizeof name, "%.*s%s", (int)(end - at), at, ending);
	snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash - program + 1) : 0,
		program ? program : "", name);
	return tell_here(options, name, name) ||
		(slash && name[0] != '/' && tell_here(options, beside, name));
}

void view_hint(const struct view_options *options, const json_t *record)
{
	const json_t *error = json_object_get(record, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *message = json_string_value(json_object_get(error, "message"));
	cleanup_buf struct buf hint = BUF_INIT(HINT_MAX_BYTES);
	bool is_file = name && message &&
		(strcmp(name, "FileNotFoundError") == 0 || strstr(message, "ENOENT"));
	bool is_module = name && message && strcmp(name, "ModuleNotFoundError") == 0;
	bool is_near = json_object_get(error, "near");
	if (options->output.quiet || (is_file && !is_near && show_missing(options, message, "")) ||
		(is_module &&
			(show_missing(options, message, ".py") ||
				show_missing(options, message, ""))))
		return;
	if (observation_hint(&hint, record, options->place))
		fprintf(stderr, "retort: hint: %s\n", buf_str(&hint));
}

void view_refusals(const struct view_options *options, const json_t *record)
{
	cleanup_buf struct buf lines = BUF_INIT(8 * ERR_MSG_BYTES);
	if (options->output.quiet || !observation_refusals(&lines, record, options->place))
		return;
	for (const char *line = buf_str(&lines); *line;) {
		size_t bytes = strcspn(line, "\n");
		cleanup_buf struct buf told = BUF_INIT(8 * ERR_MSG_BYTES);
		(void)utf8_escape_terminal(&told, line, bytes, UTF8_ONE_LINE);
		fprintf(stderr, "retort: %s\n", buf_str(&told));
		line += bytes + (line[bytes] == '\n');
	}
}
