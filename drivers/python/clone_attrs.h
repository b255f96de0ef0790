/*
 * Saves and restores process attributes that a program may have set and that a clone loses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

struct clone_attrs {
	/* signal for this process when its parent ends (PR_SET_PDEATHSIG), or 0 */
	int death_signal;
	int is_subreaper; /* orphaned descendants become its children (PR_SET_CHILD_SUBREAPER) */
};

/* Save the attributes before the clone, restore them in the clone. Both functions make only
 * async-signal-safe calls. */
void clone_attrs_save(struct clone_attrs *attrs);
void clone_attrs_restore(const struct clone_attrs *attrs);
