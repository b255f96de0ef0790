/* Functions that the text output and the JSON output of findings share. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/check/check.h"

/* Append to @out. Each function returns 0, -E2BIG or -ENOMEM. @all: the text that stands for
 * LABEL_ALL. */
int print_atoms(struct buf *out, const struct labels *labels, uint32_t set, const char *all);
int print_label(struct buf *out, const struct labels *labels, uint32_t id);
int print_finding(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f);
int finding_message(struct buf *out, const struct check_call *call, const struct finding *f);

/* Return the code of a finding (P401 to P406), and the words for a kind, a question and its answer.
 */
int finding_code(const struct finding *f);
int print_clauses(struct buf *out, const struct policy *p, const struct clauses *all);
const char *kind_text(enum label_kind rank);
const char *check_word(enum policy_check check);
const char *answer_text(const struct finding *f);
