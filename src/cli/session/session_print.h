/* Prints sessions, steps and files as tables, and steps as a tree. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Return the text of the member @name, or "" if it is missing or not a text. */
const char *session_text(const json_t *row, const char *name);

/* Print what `log`, `log --graph`, `ls` or `files` shows. Returns: 0; 1 if writing to stdout
 * fails. */
int session_print_log(const json_t *log);
int session_print_graph(const json_t *graph, bool color);
int session_print_list(const json_t *list);
int session_print_files(const json_t *files);
