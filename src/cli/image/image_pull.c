/* The command `retort image pull`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/credential.h"
#include "cli/image/image.h"

#include "base/json.h"
#include "base/num.h"
#include "cli/view.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS_MAX = 128, HOST_BYTES = 256, BAR_COLUMNS = 24 };

/* ---- progress ---- */

/* What is known of a layer; `bytes` 0: nothing yet. */
struct shown_layer {
	uint64_t moved, bytes;
	char phase; /* the first letter of the word */
};

struct progress {
	const char *name;
	bool is_drawn, is_terminal;
	unsigned n_layers;
	struct shown_layer layers[LAYERS_MAX];
};

/* Half of a layer's work is to download it, and half is to unpack it. */
static double done_part(const struct progress *p, unsigned *n_done)
{
	double done = 0, all = 0;
	*n_done = 0;
	for (unsigned i = 0; i < p->n_layers; i++) {
		const struct shown_layer *l = &p->layers[i];
		double part = l->bytes ? (double)l->moved / (double)l->bytes : 0;
		*n_done += l->phase == 'd' && l->moved == l->bytes && l->bytes > 0;
		all += (double)MAX(l->bytes, 1U);
		done += (double)l->bytes * (l->phase == 'u' ? 0.5 + part / 2 : part / 2);
	}
	return all > 0 ? done / all : 0;
}

static void draw(struct progress *p)
{
	unsigned n_done = 0;
	char bar[BAR_COLUMNS + 1];
	uint64_t moved = 0, bytes = 0;
	double part = done_part(p, &n_done);
	for (unsigned i = 0; i < p->n_layers; i++) {
		const struct shown_layer *l = &p->layers[i];
		bytes += l->bytes;
		moved += l->phase == 'd' ? l->moved : l->bytes;
	}
	for (int i = 0; i < BAR_COLUMNS; i++)
		bar[i] = (double)i < part * BAR_COLUMNS ? '#' : '.';
	bar[BAR_COLUMNS] = '\0';
	fprintf(stderr, "\r\033[K%.40s [%s] %s of %s", p->name, bar, num_format_bytes(moved).text,
		num_format_bytes(bytes).text);
	p->is_drawn = true;
}

static void on_event(void *arg, const json_t *event)
{
	struct progress *p = arg;
	int64_t number = json_get_int(event, "number"), n = json_get_int(event, "of");
	const char *phase = json_get_text(event, "phase");
	if (strcmp(json_get_text(event, "event"), "progress") != 0 || number < 1 ||
		number > LAYERS_MAX || n > LAYERS_MAX)
		return;
	struct shown_layer *l = &p->layers[number - 1];
	p->n_layers = (unsigned)n;
	bool is_done = strcmp(phase, "done") == 0;
	*l = (struct shown_layer){.moved = (uint64_t)json_get_int(event, "moved"),
		.bytes = (uint64_t)json_get_int(event, "bytes"),
		.phase = is_done ? 'u' : phase[0]};
	if (is_done)
		l->moved = l->bytes;
	if (p->is_terminal)
		draw(p);
	else if (is_done)
		fprintf(stderr, "%s: layer %lld of %lld: %s\n", p->name, (long long)number,
			(long long)n, json_get_text(event, "layer"));
}

static void end_progress(struct progress *p)
{
	if (p->is_drawn)
		fputs("\r\033[K", stderr);
	p->is_drawn = false;
}

/* ---- the command ---- */

/* Write the host of the registry of an image, as the files of logins call it. */
static void host_of(const char *name, char out[HOST_BYTES])
{
	size_t n = strcspn(name, "/");
	bool has_host = name[n] && n < HOST_BYTES &&
		(memchr(name, '.', n) || memchr(name, ':', n) ||
			(n == 9 && memcmp(name, "localhost", 9) == 0));
	snprintf(out, HOST_BYTES, "%.*s", has_host ? (int)n : 9, has_host ? name : "docker.io");
}

static int pull(struct image_run *run, const char *name, json_t **result, struct err *err)
{
	char host[HOST_BYTES];
	cleanup_json json_t *login = NULL;
	struct progress progress = {.name = name, .is_terminal = term_is(STDERR_FILENO)};
	const struct client_events events = {.arg = &progress, .event = on_event};
	host_of(name, host);
	int r = credential_find(host, &login, err);
	if (r < 0)
		return r;
	json_t *params = json_need(json_object());
	json_put_text(params, "name", name);
	json_put_text(params, "mirror", run->args.mirror);
	json_put_bool(params, "stream", !run->args.quiet);
	if (login)
		(void)json_object_update(params, login);
	r = client_call(&run->client, "image.pull", params, &events, result, err);
	end_progress(&progress);
	return r;
}

static int pull_main(int argc, char **argv)
{
	struct image_run run;
	struct err err = {0};
	int status = 0;
	int r = image_begin(&run, &cmd_image_pull, argc, argv, 1, -1, &err);
	if (r == 0)
		return 0;
	for (int i = 0; r >= 0 && i < run.n_operands; i++) {
		cleanup_json json_t *result = NULL;
		r = pull(&run, run.operands[i], &result, &err);
		if (r == 0 && run.args.json)
			status |= view_json(result);
		else if (r == 0)
			status |= printf("%s: %s, %zu layers, digest %.12s\n",
					  json_get_text(result, "short_name"),
					  num_format_bytes((uint64_t)json_get_int(result, "bytes"))
						  .text,
					  json_array_size(json_object_get(result, "layers")),
					  json_get_text(result, "digest")) < 0;
	}
	return image_end(&run, r, &err, status);
}

static const struct opt opts[] = {
	{.name = "mirror",
		OPT_INTO_TEXT(struct image_args, mirror),
		.arg = "HOST[:PORT]",
		.group = "Options",
		.help = "ask this host in place of the registry"},
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
