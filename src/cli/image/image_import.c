/* The command `retort image import`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/image.h"
#include "cli/image/image_pack.h"
#include "cli/image/image_progress.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/num.h"
#include "base/timer.h"
#include "cli/host/xdg.h"
#include "cli/screen/term.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 << 10, TELL_MS = 100, SHOWN_BYTES = 150 };

/* A file beside the downloads, which the engine reads. As long as it is locked, nobody takes it for
 * a download that was broken off. */
struct spool {
	int fd;
	char path[PATH_MAX];
};

static int open_spool(const struct image_run *run, struct spool *out, struct err *err)
{
	char name[32];
	const char *state = xdg_layers_dir(run->args.state);
	int n = snprintf(out->path, sizeof out->path, "%s/downloads", state ? state : "");
	int r = n >= PATH_MAX - (int)sizeof name ? -ENAMETOOLONG
						 : file_make_dirs(out->path, 0700, 0700);
	id_make(name, sizeof name, "import-");
	snprintf(out->path + n, sizeof out->path - (size_t)n, "/%s", name);
	if (r == 0) {
		out->fd = open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		r = out->fd < 0 || flock(out->fd, LOCK_EX) < 0 ? -errno : 0;
	}
	if (r < 0)
		return err_sys(err, file_code(-r), -r, "write to %.150s", out->path);
	/* The engine takes no relative path. */
	char *whole = realpath(out->path, NULL);
	if (whole && strlen(whole) < sizeof out->path)
		snprintf(out->path, sizeof out->path, "%s", whole);
	free(whole);
	return 0;
}

static void close_spool(struct spool *s)
{
	if (s->fd >= 0)
		(void)unlink(s->path);
	fd_close(&s->fd);
}

/* ---- signals while the spool is written ---- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static const char *spool_path; /* that is removed */

static void on_signal(int number)
{
	(void)unlink(spool_path);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

/* A signal removes the spool from now on, before it ends the process; @path NULL: no more. */
static void remove_at_signal(const char *path)
{
	struct sigaction was, act = {.sa_handler = path ? on_signal : SIG_DFL};
	if (path)
		spool_path = path;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (sigaction(signals[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &act, NULL);
}

/* Copy stdin to the spool. */
static int read_stdin(const struct image_run *run, const struct spool *to, struct err *err)
{
	static char chunk[CHUNK_BYTES];
	bool is_shown = term_is(STDERR_FILENO) && !run->args.quiet;
	uint64_t bytes = 0, told = 0;
	ssize_t n = -1;
	while ((n = read(STDIN_FILENO, chunk, sizeof chunk)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, ERR_IO, errno, "read stdin");
		int r = fd_write_all(to->fd, chunk, (size_t)n);
		if (r < 0) {
			(void)err_sys(err, file_code(-r), -r, "write to %.150s", to->path);
			return r == -ENOSPC
				? err_hint(err, "free some, for example with: retort image prune")
				: r;
		}
		bytes += (uint64_t)n;
		if (is_shown && (told == 0 || timer_since(told) >= TELL_MS)) {
			told = timer_now();
			fprintf(stderr, "\r\033[Kreading: %s", num_format_bytes(bytes).text);
		}
	}
	if (told > 0)
		fputs("\r\033[K", stderr);
	return bytes > 0
		? 0
		: err_fail(err, ERR_USAGE,
			  "write an archive to it: docker save app | retort image import -",
			  "nothing came on stdin");
}

/* ---- what it is ---- */

/* Hint at what to write instead of the names of skopeo's transports, "oci:DIR". */
static void hint_transport(const char *operand, struct err *err)
{
	static const char *const words[] = {"oci:", "oci-archive:", "docker-archive:", "dir:"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strncmp(operand, words[i], strlen(words[i])) == 0)
			(void)err_hint(err, "write the path alone, without %s", words[i]);
	if (strncmp(operand, "docker-daemon:", strlen("docker-daemon:")) == 0)
		(void)err_hint(err, "docker save IMAGE | retort image import -");
	if (strncmp(operand, "containers-storage:", strlen("containers-storage:")) == 0)
		(void)err_hint(err, "podman save IMAGE | retort image import -");
}

static bool has_file(const char *dir, const char *name)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* Return the first character of a JSON file; or '\0'. */
static char first_of(const char *dir, const char *name)
{
	char path[PATH_MAX + 16], text[64];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[MAX(n, 0)] = '\0';
	return text[strspn(text, " \t\r\n")];
}

/* Look at a directory. Returns: whether it is the layout of an image, for the engine, and not the
 * files of a system; or negative errno. */
static int look_into(const struct image_run *run, const char *dir, struct err *err)
{
	char first = first_of(dir, "manifest.json");
	if (has_file(dir, "oci-layout") || first == '[')
		return 1;
	if (first == '{' && has_file(dir, "version"))
		return err_fail(err, ERR_USAGE,
			"copy the image to an OCI layout: skopeo copy … oci:DIR",
			"%.150s is a directory of skopeo's dir: transport", run->operands[0]);
	if (run->n_operands < 2)
		return err_fail(err, ERR_USAGE, "name the image: retort image import PATH NAME",
			"%.150s has the files of a system, and no name for the image",
			run->operands[0]);
	return 0;
}

/* Find what the engine is to read: the file itself; or a spool with stdin, or with an archive of
 * the files of a system. */
static int find_source(const struct image_run *run, const char *path, struct spool *spool,
	char out[PATH_MAX], struct err *err)
{
	struct stat st;
	bool is_stdin = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0;
	if (is_stdin && term_is(STDIN_FILENO))
		return err_fail(err, ERR_USAGE, "docker save app | retort image import -",
			"stdin is a terminal");
	if (!is_stdin && (!realpath(path, out) || stat(out, &st) < 0)) {
		int r = err_sys(err, file_code(errno), errno, "read %.150s", path);
		hint_transport(path, err);
		return r;
	}
	if (!is_stdin && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return err_fail(err, ERR_USAGE,
			"let it come on stdin: retort image import - < PATH",
			"%.150s is neither a file nor a directory", path);
	if (!is_stdin) {
		int is_layout = S_ISDIR(st.st_mode) ? look_into(run, out, err) : 1;
		if (is_layout != 0)
			return MIN(is_layout, 0);
	}
	remove_at_signal(spool->path);
	int r = open_spool(run, spool, err);
	if (r == 0)
		r = is_stdin ? read_stdin(run, spool, err) : image_pack(out, spool->fd, err);
	remove_at_signal(NULL);
	snprintf(out, PATH_MAX, "%s", spool->path);
	return r;
}

/* ---- retort image import ---- */

/* Speak of what the user has named, and not of @path, which the engine has read. */
static void name_source(const char *path, const char *operand, struct err *err)
{
	const struct err was = *err;
	char start[SHOWN_BYTES + 1];
	const char *shown = strcmp(operand, "-") == 0 ? "stdin" : operand;
	snprintf(start, sizeof start, "%s", path); /* messages have no more of a path */
	const char *at = strstr(was.msg, start);
	if (at)
		snprintf(err->msg, sizeof err->msg, "%.*s%.150s%s", (int)(at - was.msg), was.msg,
			shown, at + strlen(start));
	else if (strncmp(was.msg, "the image ", strlen("the image ")) == 0)
		(void)err_wrap(err, "%.100s", shown);
}

/* Let the engine read @path. */
static int give(struct image_run *run, const char *path, json_t **result, struct err *err)
{
	struct image_progress progress;
	const struct client_events events = {.arg = &progress, .event = image_progress_event};
	const char *operand = run->operands[0];
	const char *name = run->n_operands > 1 ? run->operands[1] : NULL;
	json_t *params = json_need(json_object());
	json_put_text(params, "path", path);
	json_put_text(params, "name", name);
	json_put_text(params, "ref", run->args.ref);
	json_put_bool(params, "stream", !run->args.quiet);
	image_progress_begin(&progress, name ? name : operand, false);
	int r = client_call(&run->client, "image.import", params, &events, result, err);
	bool is_interrupted = r < 0 && err->code == ERR_INTERRUPTED;
	image_progress_end(&progress, is_interrupted);
	if (is_interrupted)
		return err_set(err, ERR_INTERRUPTED, "the import was interrupted");
	if (r < 0)
		name_source(path, operand, err);
	return r;
}

static int import(struct image_run *run, json_t **result, struct err *err)
{
	struct spool spool = {.fd = -1};
	char path[PATH_MAX];
	int r = find_source(run, run->operands[0], &spool, path, err);
	r = r < 0 ? r : give(run, path, result, err);
	close_spool(&spool);
	return r;
}

static int import_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = 2};
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	int status = 0;
	int r = image_begin(&run, &cmd_image_import, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = import(&run, &result, &err);
	run.n_operands = 1; /* one image, also with a NAME */
	if (r == 0)
		status = image_say(&run, result);
	return image_end(&run, r, &err, status);
}

static const struct opt opts[] = {
	{.name = "ref",
		OPT_INTO_TEXT(struct image_args, ref),
		.arg = "NAME",
		.flags = OPT_NO_ENV,
		.group = "Options",
		.help = "the image of this name, when the archive has several"},
	{.name = "quiet",
		.letter = 'q',
		OPT_INTO_FLAG(struct image_args, quiet),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print no progress"},
	IMAGE_JSON_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const usage[] = {"image import [options] PATH|- [NAME]", NULL};
static const struct cmd_example examples[] = {
	{"from docker on this host", "docker save app | retort image import -"},
	{"an OCI layout, which skopeo, buildah and others write",
		"retort image import ./layout app:1"},
	{"the files of a system", "debootstrap bookworm ./root && retort image import ./root deb"},
};
const struct cmd cmd_image_import = {
	.name = "image import",
	.alike = "load add",
	.summary = "Take an image from a file, a directory or stdin",
	.usage = usage,
	.text = "PATH is an OCI image layout, a tar archive of one, what `docker save` or `podman "
		"save` writes, a directory with the files of a system, or a tar archive of them. "
		"Archives may be compressed with gzip or zstd. The files of a system become one "
		"layer, and need a NAME.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.exits = image_exits,
	.n_exits = IMAGE_EXITS,
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_FILE,
	.run = import_main,
};
