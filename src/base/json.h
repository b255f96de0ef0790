/*
 * Short functions for reading and building JSON. They use jansson, so the modules label, plan and
 * sandbox may not include this file.
 *
 * If memory runs out, these functions end the process (base/alloc.h). They are therefore only for
 * values of a bounded size. A value that a user's program made can have any size, so it is built
 * with jansson's own functions, whose failure the caller reports as an error.
 *
 * `cleanup_json json_t *object = json_need(json_object());` releases the object at the end of the
 * block, unless take_ptr(object) has handed it over. (jansson's own json_auto_t cannot be used,
 * because its definition contains the identifier `cleanup`, which is a macro here.)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/alloc.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

static inline void json_release(json_t **json)
{
	json_decref(*json);
}
#define cleanup_json cleanup(json_release)

/* Return @made, or abort if it is NULL because memory ran out. @made must not come from a text
 * that may be invalid UTF-8, because json_pack() and json_string() return NULL for such a text,
 * too. */
static inline json_t *json_need(json_t *made)
{
	if (!made)
		xdie("JSON");
	return made;
}

/* ---- reading members: "", 0 or false if the member is missing or of another type ---- */

const char *json_get_text(const json_t *object, const char *key);
int64_t json_get_int(const json_t *object, const char *key);
bool json_get_bool(const json_t *object, const char *key);

/* Cast away const. This is for functions of jansson that only read a value but declare it
 * without const, such as json_object_iter(). */
static inline json_t *json_unconst(const json_t *json)
{
	return (json_t *)(uintptr_t)json;
}

/* ---- setting members of an object: nothing is set if @key is not UTF-8 ---- */

/* Set the member @key to @text, with U+FFFD in place of invalid UTF-8. If @text is NULL, do
 * nothing. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_textn(json_t *object, const char *key, const char *text, size_t bytes);
void json_put_int(json_t *object, const char *key, int64_t n);
void json_put_bool(json_t *object, const char *key, bool is);

/* Set the member @key to @value and consume the reference. If @value is NULL, do nothing. */
void json_put_new(json_t *object, const char *key, json_t *value);

/* Set the member @key to @value with a new reference. If @value is NULL, do nothing. */
void json_put_shared(json_t *object, const char *key, const json_t *value);

/* ---- adding elements to an array, and making a string ---- */

void json_add_text(json_t *array, const char *text);
/* Append @value to @array. json_add_new() consumes the reference, json_add_shared() takes a new
 * one. If @value is NULL, do nothing. */
void json_add_new(json_t *array, json_t *value);
void json_add_shared(json_t *array, const json_t *value);

/*
 * Make a JSON string from @text, with U+FFFD in place of invalid UTF-8.
 * Owns: the caller.
 * Returns: never NULL.
 */
json_t *json_new_text(const char *text, size_t bytes);

/* ---- texts that are not parsed yet ---- */

/* Estimate the memory that parsing needs: count the values in a text, which are containers, their
 * members and elements. Accepts any bytes; for a text that is not JSON the count is
 * meaningless. */
size_t json_parts(const char *data, size_t bytes);
