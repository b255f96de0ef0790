/*
 * Functions that the text output and the JSON output of findings share.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/check/check.h"

/* Append a set of atoms, a label, a finding, or only the message of a finding to @out. @all is
 * the text that stands for LABEL_ALL. Returns: 0, -E2BIG or -ENOMEM. */
int print_atoms(struct buf *out, const struct labels *labels, uint32_t set, const char *all);
int print_label(struct buf *out, const struct labels *labels, uint32_t id);
int print_finding(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f);
int finding_message(struct buf *out, const struct check_call *call, const struct finding *f);

/* finding_code(): return the code of a finding (P401 to P406). print_clauses(): append the text
 * of clauses to @out; return 0, -E2BIG or -ENOMEM. kind_text(): return the word for a kind of
 * value. check_word(): return the word for a question to the policy. answer_text(): return the
 * text of the policy's answer. */
int finding_code(const struct finding *f);
int print_clauses(struct buf *out, const struct policy *p, const struct clauses *all);
const char *kind_text(enum label_kind rank);
const char *check_word(enum policy_check check);
const char *answer_text(const struct finding *f);
