/* Runs the cells of a notebook as steps of one session. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "cli/approver.h"
#include "cli/run.h"
#include "serve/jupyter/cell_store.h"
#include "serve/jupyter/notebook.h"
#include "serve/jupyter/output.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { CELL_NAME_BYTES = 32, CELLS_SESSION_BYTES = 128 };

/* The run of a notebook. What it points to is borrowed. */
struct cells_run {
	const struct run_args *args;
	const struct opt_set *set;
	const char *path; /* of the notebook */
	struct notebook *nb;
	const char *runtime;
	struct service *service;
	char session[CELLS_SESSION_BYTES];
	struct approver approver;
	bool can_ask;	   /* a person may be asked about connections */
	bool is_telling;   /* print notes on stderr */
	bool has_progress; /* show on stderr which cell runs */
	struct cell_output output;
	struct cell_store store;
	char filename[CELL_NAME_BYTES], name[CELL_NAME_BYTES]; /* "<cell 3>" and "cell 3" */
	size_t n_cells, n_run; /* cells to run, and those that have begun */
	size_t n_failed;       /* cells that have failed, although the run went on */
	uint64_t output_bytes; /* of all cells */
	json_t *rows;	       /* what --json tells of each cell */
	json_t *files;	       /* rows of changed files, by path */
	json_t *limits;	       /* those of the records; NULL: there is no record */
	/* How the run ended: "ok", or the status of the record of the cell that ended it. */
	char end_status[CELL_NAME_BYTES];
	int status; /* exit status */
};

/* Zero @run, and prepare it. cells_done() frees what cells_run() has made in it. */
void cells_init(struct cells_run *run);
void cells_done(struct cells_run *run);

/* Run the cells, and put their outputs into the notebook, until the end, or until a cell fails that
 * may not. Errors are shown on stderr, and set the status. */
void cells_run(struct cells_run *run);

/* Call an operation of the engine. @arg: a struct cells_run. For box_publish() and copies. */
int cells_call(void *arg, const char *method, json_t *params, json_t **result, struct err *err);
