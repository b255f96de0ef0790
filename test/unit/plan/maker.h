/* Programs at random, of forms: the same seed gives the same one. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct maker {
	uint64_t state;
	char text[1 << 17];
	size_t n;
	int in_loop;
};

/* What may stand for "%" and a letter; the first one where it is deep already. */
struct forms {
	char letter;
	unsigned n;
	const char *const *form;
};
#define FORMS(letter, ...)                                                                         \
	{                                                                                          \
		letter, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),         \
			(const char *const[])                                                      \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
enum { MAKER_DEPTH_MAX = 3 };

static inline unsigned pick(struct maker *m, unsigned n)
{
	m->state = m->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(m->state >> 33) % n;
}

static inline void put(struct maker *m, const char *text)
{
	size_t n = strlen(text);
	if (n < sizeof m->text - m->n) {
		memcpy(m->text + m->n, text, n + 1);
		m->n += n;
	}
}

/* @all is ended by letter 0. */
static inline void make(struct maker *m, const struct forms *all, const char *form, int depth)
{
	for (; *form; form++) {
		const char one[2] = {*form, 0};
		if (*form != '%') {
			put(m, one);
			continue;
		}
		form++;
		const struct forms *of = all;
		while (of->letter && of->letter != *form)
			of++;
		if (!of->letter)
			put(m, "%");
		else
			make(m, all, of->form[depth > MAKER_DEPTH_MAX ? 0 : pick(m, of->n)],
				depth + 1);
	}
}

/* How many programs, from which seed on: RETORT_PLANS and RETORT_FIRST. */
static inline uint64_t number_of(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 10) : fallback;
}
