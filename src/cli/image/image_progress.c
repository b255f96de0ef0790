/* Progress of an image on its way, for people. SPDX-License-Identifier: Apache-2.0 */
#include "cli/image/image_progress.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/screen/term.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	BAR_COLUMNS = 24,
	BAR_COLUMNS_MIN = 6,
	NAME_COLUMNS = 40,
	NAME_COLUMNS_MIN = 8,
	NARROW_COLUMNS = 60
};

/* What all layers have done. Half of the work for a layer is to download it, and half is to unpack
 * it. */
struct sums {
	double part;
	uint64_t moved, bytes;
	bool is_downloading, is_checking, is_unpacking, is_waiting;
};

static struct sums sum_up(const struct image_progress *p)
{
	struct sums s = {.part = 0};
	double done = 0;
	for (unsigned i = 0; i < p->n_layers; i++) {
		const struct image_progress_layer *l = &p->layers[i];
		double part = l->bytes ? (double)l->moved / (double)l->bytes : 0;
		double unpacked = l->was_downloaded ? 0.5 + part / 2 : part;
		bool is_unpacking = l->phase == 'u';
		s.is_downloading |= l->phase == 'd' && l->moved < l->bytes;
		s.is_checking |= l->phase == 'c';
		s.is_waiting |= l->phase == 'w';
		s.is_unpacking |= is_unpacking && l->moved < l->bytes;
		s.bytes += l->bytes;
		s.moved += is_unpacking ? l->bytes : l->moved;
		done += (double)l->bytes * (is_unpacking ? unpacked : part / 2);
	}
	s.part = s.bytes ? done / (double)s.bytes : 0;
	return s;
}

static void add_name(struct buf *line, const char *name, size_t columns)
{
	size_t bytes = 0;
	int32_t c;
	if (utf8_count(name, strlen(name)) <= columns) {
		buf_add(line, name);
		return;
	}
	for (size_t n = 1; n < columns && name[bytes]; n++)
		bytes += utf8_decode(name + bytes, strlen(name + bytes), &c);
	buf_append(line, name, bytes);
	buf_add(line, "…");
}

static void add_bar(struct buf *line, double part, size_t columns)
{
	buf_add(line, " [");
	for (size_t i = 0; i < columns; i++)
		buf_add(line, (double)i < part * (double)columns ? "#" : ".");
	buf_add(line, "]");
}

static const char *word_for(const struct sums *s)
{
	if (s->is_downloading)
		return "downloading";
	if (s->is_checking)
		return "checking";
	/* Another engine is at the layers. */
	return s->is_waiting && !s->is_unpacking ? "waiting for another pull" : "unpacking";
}

/* Write the line: what there is room for of "NAME [####....] 5.0 MiB of 10.0 MiB, unpacking". */
static void draw(struct image_progress *p)
{
	cleanup_buf struct buf line = BUF_INIT(4 * TERM_COLUMNS_MAX);
	const struct sums s = sum_up(p);
	char tail[96];
	/* A line that fills the last column makes some terminals go on to the next line. */
	size_t columns = (size_t)term_columns(STDERR_FILENO) - 1, bar = 0;
	bool is_narrow = columns < NARROW_COLUMNS;
	int n = snprintf(tail, sizeof tail, " %s%s%s, %s", num_format_bytes(s.moved).text,
		is_narrow ? "" : " of ", is_narrow ? "" : num_format_bytes(s.bytes).text,
		word_for(&s));
	size_t left = n > 0 && columns > (size_t)n ? columns - (size_t)n : 0;
	size_t name = MIN(utf8_count(p->name, strlen(p->name)), (size_t)NAME_COLUMNS);
	if (left >= MIN(name, (size_t)NAME_COLUMNS_MIN) + BAR_COLUMNS_MIN + 3) {
		bar = left > name + 3 ? left - name - 3 : 0;
		bar = MIN(MAX(bar, (size_t)BAR_COLUMNS_MIN), (size_t)BAR_COLUMNS);
		left -= bar + 3;
	}
	if (left > 0)
		add_name(&line, p->name, MIN(left, name));
	if (bar > 0)
		add_bar(&line, s.part, bar);
	buf_append(&line, tail + !left, MIN((size_t)MAX(n - !left, 0), columns));
	fprintf(stderr, "\r\033[K%s", buf_str(&line));
	p->is_drawn = true;
}

void image_progress_begin(struct image_progress *p, const char *name, bool is_pull)
{
	cleanup_buf struct buf shown = BUF_INIT(IMAGE_PROGRESS_NAME_BYTES - 1);
	*p = (struct image_progress){.is_terminal = term_is(STDERR_FILENO), .is_pull = is_pull};
	bool is_short = utf8_escape_terminal(&shown, name, strlen(name), UTF8_ONE_LINE) == 0;
	snprintf(p->name, sizeof p->name, "%s", is_short ? buf_str(&shown) : "image");
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
	bool is_done = strcmp(phase, "done") == 0, is_here = p->is_pull && is_done && !l->phase;
	p->n_layers = (unsigned)n;
	l->moved = (uint64_t)json_get_int(event, "moved");
	l->bytes = (uint64_t)json_get_int(event, "bytes");
	l->phase = is_done ? 'u' : phase[0];
	l->was_downloaded |= l->phase == 'd';
	if (is_done)
		l->moved = l->bytes;
	if (p->is_terminal)
		draw(p);
	else if (is_done)
		fprintf(stderr, "%s: layer %lld of %lld: %.12s%s\n", p->name, (long long)number,
			(long long)n, json_get_text(event, "layer"),
			is_here ? ", here already" : "");
}

void image_progress_end(struct image_progress *p, bool is_interrupted)
{
	if (p->is_drawn)
		fputs(is_interrupted ? "\n" : "\r\033[K", stderr);
	p->is_drawn = false;
}
