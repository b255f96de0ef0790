/*
 * Saves and restores process attributes that a program may have set and that a clone loses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

struct clone_attrs {
	/* signal that this process gets when its parent ends (PR_SET_PDEATHSIG), or 0 */
	int death_signal;
	/* whether this process inherits its orphaned descendants (PR_SET_CHILD_SUBREAPER) */
	int is_subreaper;
};

/*
 * Save the attributes before the clone, and restore them in the clone. Both functions make only
 * async-signal-safe calls.
 */
void clone_attrs_save(struct clone_attrs *attrs);
void clone_attrs_restore(const struct clone_attrs *attrs);
