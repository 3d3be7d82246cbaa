BEGIN TRANSACTION;
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
INSERT INTO "alembic_version" VALUES('e43177bfe90b');
CREATE TABLE assignment (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	duedate DATETIME, 
	course_id VARCHAR(128) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	FOREIGN KEY(course_id) REFERENCES course (id)
);
INSERT INTO "assignment" VALUES('55e7da3ce2954002b76edb700563ffe7','06_masks',NULL,'transformer');
CREATE TABLE base_cell (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	notebook_id VARCHAR(32) NOT NULL, 
	type VARCHAR(50), 
	PRIMARY KEY (id), 
	UNIQUE (name, notebook_id, type), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "base_cell" VALUES('29d304f99b29496b85f64fba5a60706c','padding_mask-test','d01e42c4d93c41d39da3b0d9862ddab4','GradeCell');
INSERT INTO "base_cell" VALUES('5dfee202e5714303ade4c26a0813d022','causal_mask-test','d01e42c4d93c41d39da3b0d9862ddab4','GradeCell');
INSERT INTO "base_cell" VALUES('0f3b742bc74f4115af83272327c02429','masked_softmax-test','d01e42c4d93c41d39da3b0d9862ddab4','GradeCell');
INSERT INTO "base_cell" VALUES('9bfa2fc55b684ae5a75b5a19604f5396','why_accuracy_does_not_warn','d01e42c4d93c41d39da3b0d9862ddab4','GradeCell');
INSERT INTO "base_cell" VALUES('d406fb235b2b42f2ac882076e9b19f58','padding_mask','d01e42c4d93c41d39da3b0d9862ddab4','SolutionCell');
INSERT INTO "base_cell" VALUES('aa58b69ce6974c5688494f82c2c11c1d','causal_mask','d01e42c4d93c41d39da3b0d9862ddab4','SolutionCell');
INSERT INTO "base_cell" VALUES('142311ebb438487f8bac7fd4758054da','masked_softmax','d01e42c4d93c41d39da3b0d9862ddab4','SolutionCell');
INSERT INTO "base_cell" VALUES('dd033672361043f58aef8fc90396162d','why_accuracy_does_not_warn','d01e42c4d93c41d39da3b0d9862ddab4','SolutionCell');
CREATE TABLE comment (
	id VARCHAR(32) NOT NULL, 
	notebook_id VARCHAR(32), 
	cell_id VARCHAR(32), 
	auto_comment TEXT, 
	manual_comment TEXT, 
	PRIMARY KEY (id), 
	UNIQUE (cell_id, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id), 
	FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
INSERT INTO "comment" VALUES('30b358092c034c61a7e9f24a571c4bc4','af62ad76c1eb46d6a8c234d25ae21e5c','d406fb235b2b42f2ac882076e9b19f58',NULL,NULL);
INSERT INTO "comment" VALUES('74daf7b0d8f54cefb44419e28ec9ad28','af62ad76c1eb46d6a8c234d25ae21e5c','aa58b69ce6974c5688494f82c2c11c1d',NULL,NULL);
INSERT INTO "comment" VALUES('bcc169cc05a24511a1a6413291918b1e','af62ad76c1eb46d6a8c234d25ae21e5c','142311ebb438487f8bac7fd4758054da',NULL,NULL);
INSERT INTO "comment" VALUES('b9f77e64af644274889254afd8237bc0','af62ad76c1eb46d6a8c234d25ae21e5c','dd033672361043f58aef8fc90396162d',NULL,'Well seen.');
CREATE TABLE course (
	id VARCHAR(128) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (id)
);
INSERT INTO "course" VALUES('transformer');
INSERT INTO "course" VALUES('default_course');
CREATE TABLE grade (
	id VARCHAR(32) NOT NULL, 
	notebook_id VARCHAR(32), 
	cell_id VARCHAR(32), 
	auto_score FLOAT, 
	manual_score FLOAT, 
	extra_credit FLOAT, 
	needs_manual_grade BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (cell_id, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id), 
	FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
INSERT INTO "grade" VALUES('e5ab9c3039a64b87805b9c586744ead4','af62ad76c1eb46d6a8c234d25ae21e5c','29d304f99b29496b85f64fba5a60706c',2.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('2d568223e2c143c9aaaf8ecbab74e094','af62ad76c1eb46d6a8c234d25ae21e5c','5dfee202e5714303ade4c26a0813d022',0.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('522ed5ef336b492da1ab518a249d5a5d','af62ad76c1eb46d6a8c234d25ae21e5c','0f3b742bc74f4115af83272327c02429',3.0,NULL,NULL,0);
INSERT INTO "grade" VALUES('693b61df8e87452285e6115074ea10fb','af62ad76c1eb46d6a8c234d25ae21e5c','9bfa2fc55b684ae5a75b5a19604f5396',NULL,2.0,NULL,0);
CREATE TABLE grade_cells (
	id VARCHAR(32) NOT NULL, 
	max_score FLOAT NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
INSERT INTO "grade_cells" VALUES('29d304f99b29496b85f64fba5a60706c',2.0,'code');
INSERT INTO "grade_cells" VALUES('5dfee202e5714303ade4c26a0813d022',2.0,'code');
INSERT INTO "grade_cells" VALUES('0f3b742bc74f4115af83272327c02429',3.0,'code');
INSERT INTO "grade_cells" VALUES('9bfa2fc55b684ae5a75b5a19604f5396',2.0,'markdown');
CREATE TABLE notebook (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	assignment_id VARCHAR(32), 
	kernelspec VARCHAR(1024), 
	PRIMARY KEY (id), 
	UNIQUE (name, assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);
INSERT INTO "notebook" VALUES('d01e42c4d93c41d39da3b0d9862ddab4','06_masks','55e7da3ce2954002b76edb700563ffe7','{"display_name": "Python 3", "language": "python", "name": "python3"}');
CREATE TABLE solution_cells (
	id VARCHAR(32) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
INSERT INTO "solution_cells" VALUES('d406fb235b2b42f2ac882076e9b19f58');
INSERT INTO "solution_cells" VALUES('aa58b69ce6974c5688494f82c2c11c1d');
INSERT INTO "solution_cells" VALUES('142311ebb438487f8bac7fd4758054da');
INSERT INTO "solution_cells" VALUES('dd033672361043f58aef8fc90396162d');
CREATE TABLE source_cell (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	locked BOOLEAN NOT NULL, 
	source TEXT, 
	checksum VARCHAR(128), 
	notebook_id VARCHAR(32), 
	PRIMARY KEY (id), 
	UNIQUE (name, notebook_id), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "source_cell" VALUES('17cad9e5c0854822b95cbc62a4213b6c','padding_mask','code',0,'def padding_mask(
    ids: Int[Tensor, "batch key"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 key"]:
    """Say which keys are real tokens, and which are padding.

    Args:
        ids: a batch of sentences, filled up with ``pad_id``.
        pad_id: the number that means nothing.

    Returns:
        True where a key may be attended to. The two axes of size 1 stand
        for all heads and all queries.
    """
    raise NotImplementedError  # your code here','007931ee06221e1ea656304529bef9fa','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('a134ad4688dd42a1aedfd3675db49bc5','padding_mask-check','code',1,'check(padding_mask)  # stuck? hint(padding_mask)','a4cc0d5b30ed7acf3b929b89e0c60df5','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('86e2eaece1884765851e7aa093da275b','padding_mask-test','code',1,'# padding_mask, 2 points. It is marked here, on other inputs than in the cell
# above: leave this cell as it is.
### BEGIN HIDDEN TESTS
from transformer_course.exercises.catalogue import find
from transformer_course.exercises.diagnose import diagnose

verdict = diagnose(find("padding_mask").with_more(20171206, 24), padding_mask)
assert verdict.is_correct, verdict.text
### END HIDDEN TESTS','f2b807cdff8998f53d93fd05ba5e197c','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('80d803665b034a89ab2c42aa38b63ed0','causal_mask','code',0,'def causal_mask(length: int) -> Bool[Tensor, "1 1 query key"]:
    """Let each token look at itself and at what came before.

    Args:
        length: how many tokens there are.

    Returns:
        True where a query (row) may attend to a key (column). The two axes
        of size 1 stand for all sentences and all heads.
    """
    raise NotImplementedError  # your code here','e7d2afbb84dcdfff0ed8dc0ea2b3b73f','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('efaf86c9cd56434ab5457e8e05ba5305','causal_mask-check','code',1,'check(causal_mask)  # stuck? hint(causal_mask)','8712956f79f75c909fc7f952bcb08e88','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('54c55ba3c1e84412b3e52aa170594faa','causal_mask-test','code',1,'# causal_mask, 2 points. It is marked here, on other inputs than in the cell
# above: leave this cell as it is.
### BEGIN HIDDEN TESTS
from transformer_course.exercises.catalogue import find
from transformer_course.exercises.diagnose import diagnose

verdict = diagnose(find("causal_mask").with_more(20171206, 24), causal_mask)
assert verdict.is_correct, verdict.text
### END HIDDEN TESTS','f9a4cdd1a92e54745842c4b31aecd8f2','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('366a3a34b4284b9e861a865a2af2b7a7','masked_softmax','code',0,'def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch query key"]:
    """Weigh the keys that may be attended to, and no others.

    Args:
        scores: how well each key answers each query.
        mask: True = may be attended to; broadcast to the scores'' shape.

    Returns:
        A softmax over the keys that the mask allows; the hidden ones have
        weight 0. A row that may attend nowhere is all zeros, and its
        gradient is not NaN either. All of it holds for float16 too.
    """
    raise NotImplementedError  # your code here','c591e0fa455a080f6a66b07c2b5a5d55','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('e577d31d028f4eef8fa3ba70378ae6df','masked_softmax-check','code',1,'check(masked_softmax)  # stuck? hint(masked_softmax)','683cb304c9711444d2973730c67f8b54','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('8f1646ab564f443dab014cf530cea82b','masked_softmax-test','code',1,'# masked_softmax, 3 points. It is marked here, on other inputs than in the cell
# above: leave this cell as it is.
### BEGIN HIDDEN TESTS
from transformer_course.exercises.catalogue import find
from transformer_course.exercises.diagnose import diagnose

verdict = diagnose(find("masked_softmax").with_more(20171206, 24), masked_softmax)
assert verdict.is_correct, verdict.text
### END HIDDEN TESTS','b9750b349ec9dbc015c3b5fbffd069d6','d01e42c4d93c41d39da3b0d9862ddab4');
INSERT INTO "source_cell" VALUES('ee38e4a6382246aea2d654d580fb3ff2','why_accuracy_does_not_warn','markdown',0,'*Your answer here.*','075b58160196e92e3c06d7755d0c132f','d01e42c4d93c41d39da3b0d9862ddab4');
CREATE TABLE student (
	id VARCHAR(128) NOT NULL, 
	first_name VARCHAR(128), 
	last_name VARCHAR(128), 
	email VARCHAR(128), 
	lms_user_id VARCHAR(128), 
	PRIMARY KEY (id)
);
INSERT INTO "student" VALUES('anna',NULL,NULL,NULL,NULL);
CREATE TABLE submitted_assignment (
	id VARCHAR(32) NOT NULL, 
	assignment_id VARCHAR(32), 
	student_id VARCHAR(128), 
	timestamp DATETIME, 
	extension DATETIME, 
	PRIMARY KEY (id), 
	UNIQUE (assignment_id, student_id), 
	FOREIGN KEY(assignment_id) REFERENCES assignment (id), 
	FOREIGN KEY(student_id) REFERENCES student (id)
);
INSERT INTO "submitted_assignment" VALUES('9d9ae1dfbd574036a57a258d08b57249','55e7da3ce2954002b76edb700563ffe7','anna',NULL,NULL);
CREATE TABLE submitted_notebook (
	id VARCHAR(32) NOT NULL, 
	assignment_id VARCHAR(32), 
	notebook_id VARCHAR(32), 
	flagged BOOLEAN, 
	late_submission_penalty FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (notebook_id, assignment_id), 
	FOREIGN KEY(assignment_id) REFERENCES submitted_assignment (id), 
	FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
INSERT INTO "submitted_notebook" VALUES('af62ad76c1eb46d6a8c234d25ae21e5c','9d9ae1dfbd574036a57a258d08b57249','d01e42c4d93c41d39da3b0d9862ddab4',0,NULL);
CREATE TABLE task_cells (
	id VARCHAR(32) NOT NULL, 
	max_score FLOAT NOT NULL, 
	cell_type VARCHAR(8) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(id) REFERENCES base_cell (id)
);
COMMIT;
