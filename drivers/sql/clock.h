/*
 * The clock of a run with --seed or --time, for SQLite. Such a run preloads a library that replaces
 * the clocks of libc, but a static program loads none. So the driver has the library's own clock
 * (drivers/still), and shows it to SQLite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/* Called once, before a database is opened. In other runs this does nothing. */
void clock_setup(void);
