/*
 * Ranges of versions. Each part of a range is turned into an interval: the first version that is in
 * it, and the first that is not any more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/version.h"

#include "base/ascii.h"
#include "base/attr.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N_NUMBERS = 3, NUMBER_MAX = 1000000000 };

struct version {
	int64_t number[N_NUMBERS];
	int n; /* how many numbers are given */
};

/* Read a version at *@at, which moves behind it. Returns: false if there is none. */
static bool read_version(const char **at, struct version *v)
{
	*v = (struct version){0};
	if (**at == 'v' || **at == 'V')
		(*at)++;
	for (bool is_open = true; v->n < N_NUMBERS && is_open;) {
		if (**at == 'x' || **at == 'X' || **at == '*') {
			(*at)++;
			for (; **at == '.' || **at == 'x' || **at == 'X' || **at == '*'; (*at)++)
				;
			return true;
		}
		if (!ascii_is_digit(**at))
			return false;
		int64_t n = 0;
		for (; ascii_is_digit(**at) && n < NUMBER_MAX; (*at)++)
			n = n * 10 + (**at - '0');
		v->number[v->n++] = n;
		is_open = **at == '.';
		*at += is_open && v->n < N_NUMBERS;
	}
	return true;
}

static int compare(const struct version *a, const struct version *b)
{
	for (int i = 0; i < N_NUMBERS; i++)
		if (a->number[i] != b->number[i])
			return a->number[i] < b->number[i] ? -1 : 1;
	return 0;
}

/* Return the first version behind all that begin with the first @n numbers of @v. */
static struct version behind(const struct version *v, int n)
{
	struct version out = {.n = N_NUMBERS};
	for (int i = 0; i < n; i++)
		out.number[i] = v->number[i];
	if (n > 0)
		out.number[n - 1]++;
	else
		out.number[0] = INT64_MAX;
	return out;
}

/* How many numbers of @v "^" keeps: up to the first that is not 0. */
static int n_kept(const struct version *v)
{
	int n = 1;
	while (n < v->n && v->number[n - 1] == 0)
		n++;
	return v->n == 0 ? 0 : n;
}

/* Return whether @v is in the part of a range that has the operator @op and the version @of. */
static bool is_in_part(const struct version *v, const char *op, const struct version *of)
{
	struct version first = *of, end = behind(of, of->n);
	if (strcmp(op, "^") == 0)
		end = behind(of, n_kept(of));
	else if (strcmp(op, "~") == 0)
		end = behind(of, of->n > 2 ? 2 : of->n);
	if (strcmp(op, "<") == 0)
		return compare(v, &first) < 0;
	if (strcmp(op, "<=") == 0)
		return compare(v, &end) < 0;
	if (strcmp(op, ">") == 0)
		return compare(v, &end) >= 0;
	return compare(v, &first) >= 0 && (strcmp(op, ">=") == 0 || compare(v, &end) < 0);
}

static void read_operator(const char **at, char op[3])
{
	size_t n = strspn(*at, "<>=^~");
	n = n > 2 ? 2 : n;
	memcpy(op, *at, n);
	op[n] = '\0';
	*at += n;
	*at += strspn(*at, " ");
}

/* Read an alternative of the range at *@at, up to "||" or the end, and judge @v by it. */
static bool is_in_alternative(const struct version *v, const char **at, bool *is_valid)
{
	static const char operators[] = "|=|<|<=|>|>=|^|~|";
	bool is_in = true;
	struct version of;
	char op[3], word[5];
	for (*at += strspn(*at, " "); **at && **at != '|'; *at += strspn(*at, " ")) {
		read_operator(at, op);
		snprintf(word, sizeof word, "|%s|", op);
		if ((op[0] && !strstr(operators, word)) || !read_version(at, &of) ||
			(**at && **at != ' ' && **at != '|')) {
			*is_valid = false;
			return false;
		}
		is_in = is_in && is_in_part(v, op, &of);
	}
	return is_in;
}

bool version_is_in(const char *version, const char *range)
{
	struct version v;
	bool is_in = false, is_valid = true;
	if (!read_version(&version, &v))
		return false;
	for (const char *at = range; is_valid; at += 2) {
		is_in = is_in_alternative(&v, &at, &is_valid) || is_in;
		if (strncmp(at, "||", 2) != 0)
			return is_valid && !*at && is_in;
	}
	return false;
}
