/*
 * Short functions for reading and building JSON. For modules that may use jansson; label, plan and
 * sandbox may not.
 *
 * These functions are for values of a bounded size: without memory the process ends
 * (base/alloc.h). Values of programs can have any size, so they are built with jansson's own
 * functions, and their failure is an error.
 *
 * `cleanup_json json_t *object = json_need(json_object());` releases the object at the end of the
 * block; take_ptr(object) hands it over before. (jansson's json_auto_t uses the identifier
 * `cleanup`, which is a macro of ours.)
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

/* Return @made; abort when it is NULL. Only for values that JSON can represent: json_pack() and
 * json_string() also return NULL for a text that is not UTF-8. */
static inline json_t *json_need(json_t *made)
{
	if (!made)
		xdie("JSON");
	return made;
}

/* ---- reading: a member that is missing, or of another type, reads as "", 0 or false ---- */

const char *json_get_text(const json_t *object, const char *key);
int64_t json_get_int(const json_t *object, const char *key);
bool json_get_bool(const json_t *object, const char *key);

/* Cast away const for jansson's functions that only read but take a pointer to non-const, such
 * as json_object_iter(). */
static inline json_t *json_unconst(const json_t *json)
{
	return (json_t *)(uintptr_t)json;
}

/* ---- writing members: one whose key is not UTF-8 is left out ---- */

/* Put @text with U+FFFD in place of invalid UTF-8; NULL leaves the member out. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_textn(json_t *object, const char *key, const char *text, size_t bytes);
void json_put_int(json_t *object, const char *key, int64_t n);
void json_put_bool(json_t *object, const char *key, bool is);

/* Consumes the reference to @value; NULL leaves the member out. */
void json_put_new(json_t *object, const char *key, json_t *value);

/* Takes a new reference to @value; NULL leaves the member out. */
void json_put_shared(json_t *object, const char *key, const json_t *value);

/* ---- writing elements ---- */

void json_add_text(json_t *array, const char *text);
/* json_add_new() consumes the reference to @value, json_add_shared() takes a new one; NULL adds
 * nothing. */
void json_add_new(json_t *array, json_t *value);
void json_add_shared(json_t *array, const json_t *value);

/* Make a text with U+FFFD in place of invalid UTF-8. Owns: the caller. Returns: never NULL. */
json_t *json_new_text(const char *text, size_t bytes);
