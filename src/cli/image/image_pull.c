/* The command `retort image pull`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/credential.h"
#include "cli/image/image.h"
#include "cli/image/image_progress.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

enum { HOST_BYTES = 256 };

static const char hub[] = "docker.io";

/* Write the host of the registry of an image, as the files of logins call it. */
static void host_of(const char *name, char out[HOST_BYTES])
{
	size_t n = strcspn(name, "/");
	bool has_host = name[n] && n < HOST_BYTES &&
		(memchr(name, '.', n) || memchr(name, ':', n) ||
			(n == 9 && memcmp(name, "localhost", 9) == 0));
	snprintf(out, HOST_BYTES, "%.*s", has_host ? (int)n : (int)sizeof hub - 1,
		has_host ? name : hub);
}

/* Return the mirror for the registry @host, of the rows [REGISTRY=]HOST[:PORT][/PATH]; or NULL. */
static const char *mirror_for(const struct opt_list *rows, const char *host)
{
	for (size_t i = 0; i < rows->n; i++) {
		const char *row = rows->item[i], *to = strchr(row, '=');
		size_t n = to ? (size_t)(to - row) : sizeof hub - 1;
		if (strlen(host) == n && strncmp(to ? row : hub, host, n) == 0)
			return to ? to + 1 : row;
	}
	return NULL;
}

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

static int pull(struct image_run *run, const char *name, json_t **result, struct err *err)
{
	char host[HOST_BYTES], mirror_host[HOST_BYTES];
	struct image_progress progress;
	const struct client_events events = {.arg = &progress, .event = image_progress_event};
	json_t *params = json_need(json_object());
	host_of(name, host);
	const char *mirror = mirror_for(&run->args.mirrors, host);
	json_put_text(params, "name", name);
	json_put_bool(params, "stream", !run->args.quiet);
	int r = add_login(params, host, "user", "secret", err);
	if (mirror) {
		json_put_text(params, "mirror", mirror);
		snprintf(
			mirror_host, sizeof mirror_host, "%.*s", (int)strcspn(mirror, "/"), mirror);
		if (r == 0)
			r = add_login(params, mirror_host, "mirror_user", "mirror_secret", err);
	}
	if (r < 0) {
		json_decref(params);
		return r;
	}
	image_progress_begin(&progress, name);
	r = client_call(&run->client, "image.pull", params, &events, result, err);
	image_progress_end(&progress);
	return r;
}

static int pull_main(int argc, char **argv)
{
	struct image_run run = {.min = 1, .max = -1};
	struct err err = {0};
	int status = 0;
	int r = image_begin(&run, &cmd_image_pull, argc, argv, &err);
	if (r == 0)
		return 0;
	for (int i = 0; r >= 0 && i < run.n_operands; i++) {
		cleanup_json json_t *result = NULL;
		r = pull(&run, run.operands[i], &result, &err);
		if (r == 0)
			status |= image_say(&run, result);
	}
	return image_end(&run, r, &err, status);
}

static const struct opt opts[] = {
	{.name = "mirror",
		OPT_INTO_LIST(struct image_args, mirrors),
		.arg = "[REGISTRY=]HOST[:PORT][/PATH]",
		.group = "Options",
		.help = "ask this host first for images of the registry, docker.io if it is not "
			"named (can be repeated)"},
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
static const char *const usage[] = {"image pull [options] IMAGE...", NULL};
static const struct cmd_example examples[] = {
	{"from Docker Hub", "retort image pull python:3.12"},
	{"exactly this one", "retort image pull debian@sha256:DIGEST"},
	{"from a registry on this host, which needs no TLS",
		"retort image pull localhost:5000/app"},
};
const struct cmd cmd_image_pull = {
	.name = "image pull",
	.alike = "get download",
	.summary = "Get an image from a registry",
	.usage = usage,
	.text = "Layers that are there already are not downloaded again, and a download that was "
		"broken off goes on where it was. Logins are those of docker and podman: log in "
		"with `docker login` or `podman login`.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_NAME,
	.run = pull_main,
};
