/* The command `retort image pull`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/credential.h"
#include "cli/image/image.h"
#include "cli/image/image_progress.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HOST_BYTES = 256 };

static const char hub[] = "docker.io", hub_index[] = "index.docker.io";

/* Write the host of the registry of an image, as the files of logins call it. */
static void host_of(const char *name, char out[HOST_BYTES])
{
	size_t n = strcspn(name, "/");
	bool has_host = name[n] && n < HOST_BYTES &&
		(memchr(name, '.', n) || memchr(name, ':', n) ||
			(n == 9 && memcmp(name, "localhost", 9) == 0));
	snprintf(out, HOST_BYTES, "%.*s", has_host ? (int)n : (int)sizeof hub - 1,
		has_host ? name : hub);
	if (strcasecmp(out, hub_index) == 0)
		snprintf(out, HOST_BYTES, "%s", hub);
}

/* ---- mirrors ---- */

/* A row [REGISTRY=]HOST[:PORT][/PATH], taken to pieces. */
struct mirror {
	char registry[HOST_BYTES];
	char place[HOST_BYTES]; /* HOST[:PORT][/PATH] */
};

static int fail_mirror(const char *row, const char *why, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "no mirror: \"%.100s\"", row);
	return err_hint(err, "%s: a mirror is [REGISTRY=]HOST[:PORT][/PATH]", why);
}

static int read_mirror(struct mirror *out, const char *row, struct err *err)
{
	const char *to = strchr(row, '=');
	const char *place = to ? to + 1 : row;
	size_t n = to ? (size_t)(to - row) : sizeof hub - 1, bytes = strlen(place);
	while (bytes > 0 && place[bytes - 1] == '/')
		bytes--;
	if (strstr(row, "://"))
		return fail_mirror(row, "leave out what ends in ://", err);
	if (n == 0)
		return fail_mirror(row, "there is nothing before the =", err);
	if (bytes == 0)
		return fail_mirror(row, "it has no host", err);
	if (n >= HOST_BYTES || bytes >= HOST_BYTES)
		return fail_mirror(row, "it is too long", err);
	snprintf(out->registry, HOST_BYTES, "%.*s", (int)n, to ? row : hub);
	snprintf(out->place, HOST_BYTES, "%.*s", (int)bytes, place);
	if (strcasecmp(out->registry, hub_index) == 0)
		snprintf(out->registry, HOST_BYTES, "%s", hub);
	return 0;
}

/* Find the mirror for the registry @host among the first @n rows. Returns: whether there is one. */
static bool find_mirror(struct mirror *out, const struct opt_list *rows, size_t n, const char *host)
{
	struct err ignored;
	for (size_t i = 0; i < n; i++)
		if (read_mirror(out, rows->item[i], &ignored) == 0 &&
			strcasecmp(out->registry, host) == 0)
			return true;
	return false;
}

/* ---- what is asked for ---- */

static int add_login(
	json_t *params, const char *host, const char *user, const char *secret, struct err *err)
{
	cleanup_json json_t *login = NULL;
	int r = credential_find(host, &login, err);
	if (r < 0 || !login)
		return r;
	json_put_shared(params, user, json_object_get(login, "user"));
	json_put_shared(params, secret, json_object_get(login, "secret"));
	return 0;
}

/* Make the parameters of image.pull. */
static int make_params(
	const struct image_run *run, const char *name, json_t *params, struct err *err)
{
	char host[HOST_BYTES], mirror_host[HOST_BYTES];
	struct mirror mirror;
	host_of(name, host);
	json_put_text(params, "name", name);
	json_put_bool(params, "stream", !run->args.quiet);
	int r = add_login(params, host, "user", "secret", err);
	if (r < 0 || !find_mirror(&mirror, &run->args.mirrors, run->args.mirrors.n, host))
		return r;
	json_put_text(params, "mirror", mirror.place);
	snprintf(mirror_host, sizeof mirror_host, "%.*s", (int)strcspn(mirror.place, "/"),
		mirror.place);
	return add_login(params, mirror_host, "mirror_user", "mirror_secret", err);
}

/* Whoever names a platform gets an image for it, or a sentence: boxes run no other than that of
 * this host. */
static int check_platform(const char *wanted, struct err *err)
{
	static const char *const here[] = {
#if defined(__x86_64__)
		"linux/amd64",
		"amd64"
#elif defined(__aarch64__)
		"linux/arm64",
		"linux/arm64/v8",
		"arm64"
#elif defined(__riscv)
		"linux/riscv64",
		"riscv64"
#else
		"linux"
#endif
	};
	for (size_t i = 0; i < ARRAY_LEN(here); i++)
		if (!wanted || strcmp(wanted, here[i]) == 0)
			return 0;
	return err_fail(err, ERR_USAGE, "leave out --platform",
		"boxes on this host run images for %s only, not for %.60s", here[0], wanted);
}

/* Return whether there is a mirror for the registry before row @n. */
static bool has_mirror_before(const struct opt_list *rows, size_t n, const char *registry)
{
	struct mirror mirror;
	return find_mirror(&mirror, rows, n, registry);
}

/* Look at the options, before any image is asked for. Returns: 1; or negative errno. */
static int check_options(const struct image_args *args, struct err *err)
{
	struct mirror mirror;
	int r = check_platform(args->platform, err);
	for (size_t i = 0; r == 0 && i < args->mirrors.n; i++) {
		r = read_mirror(&mirror, args->mirrors.item[i], err);
		if (r == 0 && has_mirror_before(&args->mirrors, i, mirror.registry))
			r = err_fail(err, ERR_USAGE, "keep one of them",
				"there are two mirrors for %.100s", mirror.registry);
	}
	return r < 0 ? r : 1;
}

static int pull(struct image_run *run, const char *name, struct err *err)
{
	struct image_progress progress;
	const struct client_events events = {.arg = &progress, .event = image_progress_event};
	cleanup_json json_t *params = json_need(json_object()), *result = NULL;
	int r = make_params(run, name, params, err);
	if (r < 0)
		return r;
	image_progress_begin(&progress, name, true);
	r = client_call(&run->client, "image.pull", json_incref(params), &events, &result, err);
	bool is_interrupted = r < 0 && err->code == ERR_INTERRUPTED;
	image_progress_end(&progress, is_interrupted);
	if (is_interrupted)
		return err_fail(err, ERR_INTERRUPTED,
			"pull it again, and the download goes on where it was",
			"%.150s was interrupted", name);
	return r < 0 ? r : image_say(run, result);
}

static int pull_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = -1};
	struct err err = {0};
	int r = image_begin(&run, &cmd_image_pull, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = check_options(&run.args, &err);
	return image_end(&run, r, &err, r > 0 ? image_each(&run, pull) : 0);
}

static const struct opt opts[] = {
	{.name = "mirror",
		OPT_INTO_LIST(struct image_args, mirrors),
		.arg = "[REGISTRY=]HOST[:PORT][/PATH]",
		.group = "Options",
		.help = "ask this host first for images of the registry, docker.io if it is not "
			"named; one mirror for each registry"},
	{.name = "platform",
		OPT_INTO_TEXT(struct image_args, platform),
		.arg = "OS/ARCH",
		.flags = OPT_NO_ENV,
		.group = "Options",
		.help = "only that of this host is possible: linux/amd64, linux/arm64, …"},
	{.name = "quiet",
		.letter = 'q',
		OPT_INTO_FLAG(struct image_args, quiet),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print no progress"},
	IMAGE_JSON_EACH_OPT,
	IMAGE_STATE_OPT,
	CMD_COMMON_OPTS(struct image_args),
};
static const char *const usage[] = {"image pull [options] IMAGE...", NULL};
static const struct cmd_example examples[] = {
	{"from Docker Hub", "retort image pull python:3.12"},
	{"exactly this one", "retort image pull debian@sha256:DIGEST"},
	{"from a registry on this host, which needs no TLS",
		"retort image pull localhost:5000/app"},
};
static const struct cmd_exit exits[] = {
	{"0", "done"},
	{"1", "failed, also if the registry is busy or what it sends is damaged"},
	{"2",
		"usage error: a wrong option, value or name; no such image, or none for this host; "
		"what cannot be read, or is too large"},
	{"3", "the registry requires a login, or refuses it"},
	{"4", "the registry cannot be reached, or does not answer as it should"},
	{"125", "the engine could not be started, or has ended"},
	{"130", "interrupted; what was downloaded is kept"},
};
const struct cmd cmd_image_pull = {
	.name = "image pull",
	.alike = "get download",
	.summary = "Get an image from a registry",
	.usage = usage,
	.text = "Layers that are there already are not downloaded again, and a download that was "
		"broken off goes on where it was. Logins are those of docker and podman: log in "
		"with `docker login` or `podman login`. Of several images, the others are still "
		"pulled when one fails; the exit status is then the highest.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_NAME,
	.run = pull_main,
};
