/* Progress of an image on its way, for people. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/image_progress.h"

#include "base/json.h"
#include "base/num.h"
#include "cli/screen/term.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_COLUMNS = 24 };

/* Half of a layer's work is to download it, and half is to unpack it. */
static double done_part(const struct image_progress *p, unsigned *n_done)
{
	double done = 0, all = 0;
	*n_done = 0;
	for (unsigned i = 0; i < p->n_layers; i++) {
		const struct image_progress_layer *l = &p->layers[i];
		double part = l->bytes ? (double)l->moved / (double)l->bytes : 0;
		*n_done += l->phase == 'd' && l->moved == l->bytes && l->bytes > 0;
		all += (double)MAX(l->bytes, 1U);
		done += (double)l->bytes * (l->phase == 'u' ? 0.5 + part / 2 : part / 2);
	}
	return all > 0 ? done / all : 0;
}

static void draw(struct image_progress *p)
{
	unsigned n_done = 0;
	char bar[BAR_COLUMNS + 1];
	uint64_t moved = 0, bytes = 0;
	double part = done_part(p, &n_done);
	for (unsigned i = 0; i < p->n_layers; i++) {
		const struct image_progress_layer *l = &p->layers[i];
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

void image_progress_begin(struct image_progress *p, const char *name)
{
	*p = (struct image_progress){.name = name, .is_terminal = term_is(STDERR_FILENO)};
}

void image_progress_event(void *arg, const json_t *event)
{
	struct image_progress *p = arg;
	int64_t number = json_get_int(event, "number"), n = json_get_int(event, "of");
	const char *phase = json_get_text(event, "phase");
	if (strcmp(json_get_text(event, "event"), "progress") != 0 || number < 1 ||
		number > IMAGE_PROGRESS_LAYERS || n > IMAGE_PROGRESS_LAYERS)
		return;
	struct image_progress_layer *l = &p->layers[number - 1];
	p->n_layers = (unsigned)n;
	bool is_done = strcmp(phase, "done") == 0;
	*l = (struct image_progress_layer){.moved = (uint64_t)json_get_int(event, "moved"),
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

void image_progress_end(struct image_progress *p)
{
	if (p->is_drawn)
		fputs("\r\033[K", stderr);
	p->is_drawn = false;
}
