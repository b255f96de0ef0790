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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 << 10, TELL_MS = 100 };

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
	return r < 0 ? err_sys(err, file_code(-r), -r, "write to %.150s", out->path) : 0;
}

static void close_spool(struct spool *s)
{
	if (s->fd >= 0)
		(void)unlink(s->path);
	fd_close(&s->fd);
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
		if (r < 0)
			return err_sys(err, file_code(-r), -r, "write to %.150s", to->path);
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

/* Find what the engine is to read: the file itself; or a spool with stdin, or with an archive of
 * the files of a system. */
static int find_source(const struct image_run *run, const char *path, struct spool *spool,
	char out[PATH_MAX], struct err *err)
{
	struct stat st;
	char mark[PATH_MAX + 16];
	bool is_stdin = strcmp(path, "-") == 0;
	if (is_stdin && term_is(STDIN_FILENO))
		return err_fail(err, ERR_USAGE, "docker save app | retort image import -",
			"stdin is a terminal");
	if (!is_stdin && (!realpath(path, out) || stat(out, &st) < 0))
		return err_sys(err, file_code(errno), errno, "read %.150s", path);
	if (!is_stdin) {
		bool is_layout = false;
		snprintf(mark, sizeof mark, "%s/oci-layout", out);
		is_layout = access(mark, F_OK) == 0;
		snprintf(mark, sizeof mark, "%s/manifest.json", out);
		is_layout = is_layout || access(mark, F_OK) == 0;
		if (!S_ISDIR(st.st_mode) || is_layout)
			return 0;
	}
	int r = open_spool(run, spool, err);
	if (r == 0)
		r = is_stdin ? read_stdin(run, spool, err) : image_pack(out, spool->fd, err);
	snprintf(out, PATH_MAX, "%s", spool->path);
	return r;
}

static int import(struct image_run *run, json_t **result, struct err *err)
{
	struct spool spool = {.fd = -1};
	char path[PATH_MAX];
	struct image_progress progress;
	const struct client_events events = {.arg = &progress, .event = image_progress_event};
	const char *operand = run->operands[0];
	const char *name = run->n_operands > 1 ? run->operands[1] : NULL;
	int r = find_source(run, operand, &spool, path, err);
	if (r == 0) {
		json_t *params = json_need(json_object());
		json_put_text(params, "path", path);
		if (name)
			json_put_text(params, "name", name);
		if (run->args.ref)
			json_put_text(params, "ref", run->args.ref);
		json_put_bool(params, "stream", !run->args.quiet);
		image_progress_begin(&progress, name ? name : operand);
		r = client_call(&run->client, "image.import", params, &events, result, err);
		image_progress_end(&progress);
	}
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
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_FILE,
	.run = import_main,
};
