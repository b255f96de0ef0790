/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/fit.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, POINTER_BYTES = 256 };

struct fit {
	const json_t *root;
	long steps;
	char path[PATH_BYTES];
	struct err *err;
};

static int check(struct fit *f, const json_t *schema, const json_t *value, int depth);

static int bad(struct fit *f, const char *what, const char *which)
{
	cleanup_buf struct buf shown = BUF_INIT(8192);
	(void)utf8_escape_terminal(&shown, f->path, strlen(f->path), UTF8_ONE_LINE);
	return err_set(f->err, ERR_USAGE, "%.100s: %s%.80s",
		shown.bytes > 0 ? buf_str(&shown) : "arguments", what, which);
}

const json_t *fit_resolve(const json_t *root, const char *ref)
{
	char key[POINTER_BYTES];
	const json_t *at = root;
	if (*ref++ != '#')
		return NULL;
	while (at && *ref == '/') {
		size_t n = 0;
		for (ref++; *ref && *ref != '/' && n < sizeof key - 1; ref++) {
			bool is_escape = *ref == '~' && (ref[1] == '0' || ref[1] == '1');
			key[n++] = (char)(is_escape ? (ref[1] == '0' ? '~' : '/') : *ref);
			ref += is_escape;
		}
		key[n] = '\0';
		at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
				       : json_object_get(at, key);
	}
	return *ref ? NULL : at;
}

/* ---- checking the keywords of a schema: one function for each ---- */

typedef int keyword_fn(struct fit *f, const json_t *word, const json_t *value, int depth);

static bool is_of(const json_t *value, const char *type)
{
	double number = json_number_value(value);
	if (strcmp(type, "integer") == 0)
		return json_is_integer(value) || (json_is_real(value) && floor(number) == number);
	return strcmp(type, "string") == 0     ? json_is_string(value)
		: strcmp(type, "number") == 0  ? json_is_number(value)
		: strcmp(type, "boolean") == 0 ? json_is_boolean(value)
		: strcmp(type, "array") == 0   ? json_is_array(value)
		: strcmp(type, "object") == 0  ? json_is_object(value)
		: strcmp(type, "null") == 0    ? json_is_null(value)
					       : false;
}

static int on_type(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	const json_t *item;
	size_t i;
	(void)depth;
	if (json_is_string(word))
		return is_of(value, json_string_value(word))
			? 0
			: bad(f, "it has to be of type ", json_string_value(word));
	json_array_foreach(word, i, item)
	{
		if (json_is_string(item) && is_of(value, json_string_value(item)))
			return 0;
	}
	return bad(f, "it is of none of the types", "");
}

static bool is_same(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	return json_equal(a, b);
}

static int on_enum(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	enum { SHOWN_BYTES = 75 };
	cleanup_buf struct buf all = BUF_INIT(SHOWN_BYTES + sizeof ", …");
	const json_t *item;
	bool is_cut = false;
	size_t i;
	(void)depth;
	if (!json_is_array(word))
		return 0;
	json_array_foreach(word, i, item)
	{
		if (is_same(item, value))
			return 0;
		char *text = json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
		size_t before = all.bytes;
		if (text)
			buf_addf(&all, "%s%s", before > 0 ? ", " : "", text);
		/* Leave out a value that is too long, but still name the others. */
		if (buf_error(&all) < 0 || all.bytes > SHOWN_BYTES) {
			buf_cut(&all, before);
			is_cut = true;
		}
		free(text);
	}
	if (is_cut)
		buf_add(&all, all.bytes > 0 ? ", …" : "…");
	return bad(f, "it has to be one of ", buf_str(&all));
}

static int on_const(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	(void)depth;
	return is_same(word, value) ? 0 : bad(f, "it is not the only allowed value", "");
}

/* Check a member or an element of @value. During the check, its key or index is part of f->path. */
static int below(struct fit *f, const json_t *schema, const json_t *value, int depth,
	const char *key, size_t index)
{
	size_t n = strlen(f->path);
	if (key)
		snprintf(f->path + n, sizeof f->path - n, "%s%s", n > 0 ? "." : "", key);
	else
		snprintf(f->path + n, sizeof f->path - n, "[%zu]", index);
	int r = check(f, schema, value, depth + 1);
	f->path[n] = '\0';
	return r;
}

static int on_properties(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	const char *key;
	json_t *schema;
	int r = 0;
	if (!json_is_object(value))
		return 0;
	json_object_foreach((json_t *)word, key, schema)
	{
		const json_t *one = json_object_get(value, key);
		if (r == 0 && one)
			r = below(f, schema, one, depth, key, 0);
	}
	return r;
}

static int on_required(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	const json_t *name;
	size_t i;
	(void)depth;
	json_array_foreach(word, i, name)
	{
		if (json_is_object(value) && json_is_string(name) &&
			!json_object_get(value, json_string_value(name)))
			return bad(f, "missing: ", json_string_value(name));
	}
	return 0;
}

static int on_additional(struct fit *f, const json_t *schema, const json_t *value, int depth)
{
	const json_t *known = json_object_get(schema, "properties");
	const json_t *rest = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *one;
	int r = 0;
	if (!rest || json_is_true(rest) || !json_is_object(value) ||
		json_object_get(schema, "patternProperties"))
		return 0;
	json_object_foreach((json_t *)value, key, one)
	{
		if (r < 0 || json_object_get(known, key))
			continue;
		r = json_is_false(rest) ? bad(f, "there is no ", key)
					: below(f, rest, one, depth, key, 0);
	}
	return r;
}

static int on_items(struct fit *f, const json_t *schema, const json_t *value, int depth)
{
	const json_t *first = json_object_get(schema, "prefixItems");
	const json_t *rest = json_object_get(schema, "items"), *item;
	size_t i;
	int r = 0;
	json_array_foreach(value, i, item)
	{
		const json_t *one = json_array_get(first, i);
		one = one ? one : rest;
		if (r == 0 && one && !json_is_array(one))
			r = below(f, one, item, depth, NULL, i);
	}
	return r;
}

static int on_any(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	struct err first = {0}, *err = f->err;
	const json_t *one;
	size_t i;
	json_array_foreach(word, i, one)
	{
		struct err other = {0};
		f->err = i == 0 ? &first : &other;
		int r = check(f, one, value, depth + 1);
		f->err = err;
		if (r == 0)
			return 0;
	}
	if (json_array_size(word) == 0)
		return 0;
	return json_array_size(word) == 1
		? (*err = first, -EINVAL)
		: bad(f, "it fits none of the alternatives; the first: ", first.msg);
}

static int on_all(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	const json_t *one;
	size_t i;
	int r = 0;
	json_array_foreach(word, i, one)
	{
		if (r == 0)
			r = check(f, one, value, depth + 1);
	}
	return r;
}

static int on_not(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	struct err *err = f->err, other = {0};
	f->err = &other;
	int r = check(f, word, value, depth + 1);
	f->err = err;
	return r == 0 ? bad(f, "it matches a schema that it must not match", "") : 0;
}

static int on_ref(struct fit *f, const json_t *word, const json_t *value, int depth)
{
	const json_t *there =
		json_is_string(word) ? fit_resolve(f->root, json_string_value(word)) : NULL;
	return there ? check(f, there, value, depth + 1) : 0;
}

static const struct {
	const char *word;
	keyword_fn *check;
} keywords[] = {
	{"$ref", on_ref},
	{"type", on_type},
	{"enum", on_enum},
	{"const", on_const},
	{"required", on_required},
	{"properties", on_properties},
	{"anyOf", on_any},
	{"oneOf", on_any},
	{"allOf", on_all},
	{"not", on_not},
};

/* The keywords that limit a number or a length. is_least: the keyword sets a lower limit,
 * otherwise an upper limit. is_open: a value equal to the limit does not fit. */
static const struct {
	const char *word;
	bool is_least, is_open;
	int of; /* what the keyword applies to: 'n'umber, 's'tring or 'a'rray */
} bounds[] = {
	{"minimum", true, false, 'n'},
	{"maximum", false, false, 'n'},
	{"exclusiveMinimum", true, true, 'n'},
	{"exclusiveMaximum", false, true, 'n'},
	{"minLength", true, false, 's'},
	{"maxLength", false, false, 's'},
	{"minItems", true, false, 'a'},
	{"maxItems", false, false, 'a'},
};

static int check_bounds(struct fit *f, const json_t *schema, const json_t *value)
{
	int of = json_is_number(value) ? 'n' : json_is_string(value) ? 's' : 'a';
	if (of == 'a' && !json_is_array(value))
		return 0;
	double size = of == 'n' ? json_number_value(value)
		: of == 's'
		? (double)utf8_count(json_string_value(value), json_string_length(value))
		: (double)json_array_size(value);
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		const json_t *word = json_object_get(schema, bounds[i].word);
		double bound = json_number_value(word);
		char which[64];
		if (bounds[i].of != of || !json_is_number(word))
			continue;
		if (bounds[i].is_least ? size > bound : size < bound)
			continue;
		if (size == bound && !bounds[i].is_open)
			continue;
		snprintf(which, sizeof which, "%s %.15g", bounds[i].word, bound);
		return bad(f, "it is beyond ", which);
	}
	return 0;
}

static int check(struct fit *f, const json_t *schema, const json_t *value, int depth)
{
	int r = 0;
	if (depth > FIT_DEPTH_MAX || f->steps++ > FIT_STEPS_MAX)
		return bad(f, "the schema is too deep to check it", "");
	if (json_is_false(schema))
		return bad(f, "no value is allowed here", "");
	if (!json_is_object(schema))
		return 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(keywords); i++) {
		const json_t *word = json_object_get(schema, keywords[i].word);
		if (word)
			r = keywords[i].check(f, word, value, depth);
	}
	if (r == 0)
		r = check_bounds(f, schema, value);
	if (r == 0)
		r = on_additional(f, schema, value, depth);
	return r < 0 ? r : on_items(f, schema, value, depth);
}

int fit_check(const json_t *schema, const json_t *value, struct err *err)
{
	struct fit f = {.root = schema, .err = err};
	return check(&f, schema, value, 0);
}
