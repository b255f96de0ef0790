/*
 * What is read from JSON and put into it, in few words. For modules that may use jansson: label,
 * plan and sandbox may not.
 *
 * What is put here has a size that we choose, or one that was bounded before: without memory the
 * process ends (base/alloc.h). Values of programs, as large as they like, are made with jansson's
 * own functions, and their failure is an error.
 *
 * `cleanup_json json_t *object = json_need(json_object());` lets go of it at the end of the block;
 * take_ptr(object) hands it over before. (jansson's json_auto_t needs the word that our macro
 * cleanup() is.)
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

/* @made; does not return when it is NULL. Only for what JSON can hold: json_pack() and
 * json_string() also give NULL for a text that is not UTF-8. */
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

/* jansson's functions that only read and yet want what may be changed, such as json_object_iter().
 */
static inline json_t *json_unconst(const json_t *json)
{
	return (json_t *)(uintptr_t)json;
}

/* ---- writing members: one whose key is not UTF-8 is left out ---- */

/* @text with U+FFFD for what is not UTF-8; NULL leaves the member out. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_textn(json_t *object, const char *key, const char *text, size_t bytes);
void json_put_int(json_t *object, const char *key, int64_t n);
void json_put_bool(json_t *object, const char *key, bool is);

/* Takes the reference to @value; NULL leaves the member out. */
void json_put_new(json_t *object, const char *key, json_t *value);

/* Takes a reference of its own; NULL leaves the member out. */
void json_put_shared(json_t *object, const char *key, const json_t *value);

/* ---- writing elements ---- */

void json_add_text(json_t *array, const char *text);
/* Takes the reference to @value; NULL adds nothing. */
void json_add_new(json_t *array, json_t *value);
void json_add_shared(json_t *array, const json_t *value);

/* A text with U+FFFD for what is not UTF-8. Owns: the caller. Returns: never NULL. */
json_t *json_new_text(const char *text, size_t bytes);
