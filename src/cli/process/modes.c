/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/modes.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER_MAX = 99999 };
enum { ESCAPE = '\33', CANCEL = '\30', SUBSTITUTE = '\32', DELETE = '\177' };

/* Modes in the order in which they are left: the screen comes last, and brings its own cursor. */
static const struct mode {
	unsigned number;   /* of CSI ? number h, which switches it on, and l; or 0 */
	bool is_usual;	   /* it is on in a terminal that nobody has changed */
	const char *usual; /* what leaves it, if it has no number */
} modes[] = {
	{.usual = "\33[m"},		  /* COLOURS */
	{.usual = "\33[0 q"},		  /* SHAPE of the cursor */
	{.usual = "\33[>4;0m"},		  /* KEYS: modifyOtherKeys */
	{.usual = "\33[<u"},		  /* KITTY: keys of the kitty protocol */
	{.usual = "\33>"},		  /* KEYPAD */
	{.number = 1},			  /* cursor keys */
	{.number = 7, .is_usual = true},  /* long lines are wrapped */
	{.number = 25, .is_usual = true}, /* the cursor is shown */
	{.number = 9},
	{.number = 1000}, /* the mouse, up to 1016 without 1004 */
	{.number = 1001},
	{.number = 1002},
	{.number = 1003},
	{.number = 1004}, /* focus */
	{.number = 1005},
	{.number = 1006},
	{.number = 1015},
	{.number = 1016},
	{.number = 2004}, /* bracketed paste */
	{.number = 47},	  /* the alternate screen */
	{.number = 1047},
	{.number = 1049},
};
enum { COLOURS, SHAPE, KEYS, KITTY, KEYPAD };

static void note(struct modes *m, size_t row, bool is_on)
{
	uint32_t bit = UINT32_C(1) << row;
	m->on = is_on ? m->on | bit : m->on & ~bit;
	m->ever |= m->on;
}

/* CSI ? … h or l */
static void set(struct modes *m, bool is_on)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t row = 0; row < ARRAY_LEN(modes); row++)
			if (modes[row].number > 0 && modes[row].number == m->number[i])
				note(m, row, is_on != modes[row].is_usual);
}

static void end_sequence(struct modes *m, char final)
{
	bool has_colours = false;
	for (size_t i = 0; i < m->n; i++)
		has_colours |= m->number[i] != 0;
	if (m->prefix == '?' && (final == 'h' || final == 'l'))
		set(m, final == 'h');
	else if (m->prefix == '>' && final == 'm' && m->number[0] == 4)
		note(m, KEYS, m->n > 1 && m->number[1] > 0);
	else if ((m->prefix == '>' || m->prefix == '<') && final == 'u')
		note(m, KITTY, m->prefix == '>');
	else if (!m->prefix && final == 'm')
		note(m, COLOURS, has_colours);
	else if (m->between == ' ' && final == 'q')
		note(m, SHAPE, m->number[0] > 0);
}

static void begin_sequence(struct modes *m)
{
	m->at = MODES_SEQUENCE;
	m->prefix = m->between = '\0';
	memset(m->number, 0, sizeof m->number);
	m->n = 1;
}

static void read_escape(struct modes *m, char c)
{
	m->at = MODES_TEXT;
	if (c == '[')
		begin_sequence(m);
	else if (c >= ' ' && c <= '/')
		m->at = MODES_CHARSET;
	else if (c == '=' || c == '>')
		note(m, KEYPAD, c == '=');
	else if (c == 'c') /* everything as it was when the terminal was switched on */
		m->on = 0;
}

static void read_number(struct modes *m, char c)
{
	/* What is behind the last place is read, and not kept. */
	uint32_t *number = m->n <= MODES_NUMBERS_MAX ? &m->number[m->n - 1] : NULL;
	if (c == ';' || c == ':')
		m->n += number != NULL;
	else if (number)
		*number = MIN(*number * 10 + (uint32_t)(c - '0'), (uint32_t)NUMBER_MAX);
}

static void read_sequence(struct modes *m, char c)
{
	if (c >= '0' && c <= ';')
		read_number(m, c);
	else if (c >= '<' && c <= '?')
		m->prefix = c;
	else if (c >= ' ' && c <= '/')
		m->between = c;
	else {
		m->n = MIN(m->n, (size_t)MODES_NUMBERS_MAX);
		m->at = MODES_TEXT;
		end_sequence(m, c);
	}
}

void modes_read(struct modes *m, const char *data, size_t bytes)
{
	const char *end = data + bytes;
	for (const char *at = data; at < end; at++) {
		if (m->at == MODES_TEXT && !(at = memchr(at, ESCAPE, (size_t)(end - at))))
			return;
		if (*at == ESCAPE)
			m->at = MODES_ESCAPE;
		else if (*at == CANCEL || *at == SUBSTITUTE || (unsigned char)*at > DELETE)
			m->at = MODES_TEXT;
		else if (*at < ' ' || *at == DELETE)
			continue; /* it has its effect within a sequence, too */
		else if (m->at == MODES_ESCAPE)
			read_escape(m, *at);
		else if (m->at == MODES_SEQUENCE)
			read_sequence(m, *at);
		else if (*at >= '0') /* the last byte of ESC ( B */
			m->at = MODES_TEXT;
	}
}

size_t modes_undo(const struct modes *m, bool is_cut, char out[MODES_UNDO_BYTES])
{
	uint32_t left = is_cut ? m->ever : m->on;
	size_t n = 0;
	/* What has begun must not swallow what we write. */
	if (is_cut || m->at != MODES_TEXT)
		out[n++] = CANCEL;
	for (size_t row = 0; row < ARRAY_LEN(modes); row++) {
		const struct mode *mode = &modes[row];
		size_t room = MODES_UNDO_BYTES - n;
		if (!(left & UINT32_C(1) << row))
			continue;
		if (mode->usual)
			n += (size_t)snprintf(out + n, room, "%s", mode->usual);
		else
			n += (size_t)snprintf(out + n, room, "\33[?%u%c", mode->number,
				mode->is_usual ? 'h' : 'l');
	}
	return n;
}

void modes_leave(const struct modes *m, struct sink *out, bool is_flushed)
{
	char undo[MODES_UNDO_BYTES];
	bool is_cut = out->waiting.bytes > 0 && !is_flushed;
	if (is_cut)
		buf_clear(&out->waiting);
	sink_add(out, undo, modes_undo(m, is_cut, undo));
}
