PRAGMA application_id = 1936488311;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'slowwave','version_1','2026-11-22 04:56:55.178224+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'slowwave','version_2','2026-11-22 04:56:55.194607+00:00');
CREATE TABLE answers (
    -- A row per question that a model answered, so that no run pays for it twice.
    key               TEXT PRIMARY KEY NOT NULL,
    model             TEXT NOT NULL,
    answer            TEXT NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd          REAL,
    created_at        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE derivations (
    -- A row per memory that a proposal made, or made to stand for others: what wrote it, from what,
    -- which of its claims cites which sources, at which price.
    memory_id         TEXT NOT NULL,
    run_id            TEXT NOT NULL,
    proposal          TEXT NOT NULL,
    operation         TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract', 'update')),
    writer            TEXT NOT NULL,
    model             TEXT,
    prompt_hash       TEXT NOT NULL,
    inputs_hash       TEXT NOT NULL,
    claims            TEXT NOT NULL CHECK (json_valid(claims) AND json_type(claims) = 'array'),
    prompt_tokens     INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd          REAL,
    PRIMARY KEY (memory_id, run_id, proposal)
) STRICT, WITHOUT ROWID;
INSERT INTO "derivations" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','01a2019d-4b92-7275-9fa4-0524aaf3a00e','183c7cc0690915e46d7065c414ff9bae','synthesize','extractive',NULL,'f74a5cab2996d57921dfcb0e7ab5a2448ef97a472b1f47f964e9c9545ce9d508','1e9e23000f3258462c1acdc5e0042971a17e2c4ef86e78e53612608b08dc3563','[{"sources":["oncall-00"],"text":"Oksana is on call for the databases at weekends."},{"sources":["oncall-01"],"text":"Database pages on a weekend go to Oksana."},{"sources":["oncall-02"],"text":"User said Oksana carries the database pager over the weekend."},{"sources":["oncall-04"],"text":"Weekend on-call duty for the databases belongs to Oksana."},{"sources":["oncall-05"],"text":"Checked the rota, and Oksana has the database shift every weekend."},{"sources":["oncall-07"],"text":"Oksana covers the databases on weekends, according to the duty roster."}]',0,0,0.0);
INSERT INTO "derivations" VALUES('019cd5af-e380-756d-9483-a814448da708','01a2019d-4b92-7275-9fa4-0524aaf3a00e','9dba2a3ca85d1c8ed648ed03d4bbb595','update','extractive',NULL,'6db82a3a152d56b75c01bab08a556331c255073cfebcd18b23826e89d6598628','aa0ffbbc771da9597e834c8221136793aebaf5f7e61d4f1b1ec4cf19d57dccba','[{"sources":["branch-01"],"text":"[since 2026-02-02] User renamed the default branch of the firmware repository; it is called trunk from now on."},{"sources":["branch-00","branch-01"],"text":"[2026-02-01 until 2026-02-02] The default branch of the firmware repository is called master."}]',0,0,0.0);
INSERT INTO "derivations" VALUES('twin-01','01a2019d-4b92-7275-9fa4-0524aaf3a00e','c87f96605b8b8ad2e5ad971ba490efd8','merge','extractive',NULL,'c7f1433a9fba6701792c8bc0753ad871fc9e0ea576abcc12f119995fd7bfe300','da4f0892fa98a60dad974542a527c8a38bbd35c654806d9f314a74890c4f896b','[{"sources":["twin-00","twin-01"],"text":"Billing listens on port 8080"}]',0,0,0.0);
CREATE TABLE embeddings (
    -- A row per memory and embedding model: its vector, little-endian float32 of unit length.
    memory_id    TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    model        TEXT NOT NULL,
    dimensions   INTEGER NOT NULL CHECK (dimensions > 0),
    vector       BLOB NOT NULL CHECK (length(vector) = 4 * dimensions),
    content_hash TEXT NOT NULL,
    -- The run that computed it; NULL: an agent stored it.
    run_id       TEXT,
    PRIMARY KEY (memory_id, model)
) STRICT;
INSERT INTO "embeddings" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','all-MiniLM-L6-v2',384,X'BAB137BDDF8034BD90911BBD59A851BDFFBB17BD612DC7BCE430B0BC3F275DBD0E3ED8BC88DD923C7A2AA33C7785B93D6213743CD85C04BD5E4800BCE5DBA0BC0308C13C3F3FD2BC1EF969BDCFA8A1BC727518BD5CF668BB6B503D3D4DB70B3D5C7C65BD57D19CBB5E4400BD38A66C3D80A6ABBC316CD0BDAD58BCBCD7009F3DA372E4BC43A4E63C17A9E2BCC1CAFA3CF07AF13A3077893C6B7EE43C4845BA3C491E0C3D935386BD995062BDBD25903D48C61EBC46A493BD05A7AABDB785D7BC85F1443D0CB9B93DC018833B11C483BC7F2082BC9CF2C83C61BCED3CFBD3823D7659CC3B90301339E3DB30BCA652AE3DBB66F7BC7FD43F3D7C14E9BC2BAC903CEBC9CABDE3AA373D8278F93C31FF8EBCEFC1963C287B08BE133FE7BD7298383DCF8BEF3C587CD03CF5930BBC783D83BC12111B3D0D4F88BCB5DAE9BB54588CBD2243B4BCAF65B53A8B9A43BC46662D3C1D4D0ABD4EF8DABC460486BD943D203D8B67093E0042813D683D193D0711C73A9B0A863CD4179EBD7A99ECBD421BFBBC070D89BDF2B5FB3AD0ACDB3D868E4D3DD567993CCA22353DEA6E053C83E186BCB83EB3BDCB6F33BDAB18873C7F1116BD177BA2BD6E9EC43B9A06703CEB00363D6A8B133C8EF1DCBD35305DBDAD3CC13C048883BDB9BAE1BCE8E54ABB0D759E3C3A6168BCCD04B13CEA5089BC14738F3CA2D5B3BCF2D9783D058F9BBB66759006FEE6A03D4B9A59BD88EC893D4E48D3BC1F16BF3CE2DF6A3D473F4E3C2015E63C220432BD9408D33C3C41DCBDC2A6423DB979FEBCB9BC93BDCA2C9E3D01874A3D4A1CE23B707DF83CAC1FF13C49DF663C32DF983D7B6D34BD5036E6BC99096F3C063F123E2BD7473DED7CFDBC0D76913C505BA23DA095D53C59D8E0BB4715A5BD4ECC9FBDB2D2253CBB178B3DA9C3EE3C741581BD5FEBD13C482B83BD260799BD3ACADEBC2A4C1FBCFDB8CABD626F2A3D4FF486BC6D95893A56CA70BC05F2C6BCEEB8AE3DDDAD83BCE74745BCA1E1BA3BE8775EBC91CD8A3D72FF08BD1415243D811CB83CA67A9BBD4DF4973D3A0B953810F76F3D6D69CDBC36B6CBBC1555A4BDD4E2C13A0CF546BC3F0EC5BCAF3BA0BD80462E3D3FEE3EBD3B74B73DBE3009BCABD7863DC810453CC8DD1ABDA750793D3870C3BDF937BCBC8A8C52BD6883673D7111D63D7A189BBC895C6CBDCCCB033C8D211E3DD1CB133D69A09C3C26BB9ABD50432EBC9FA9463C6F434CBD8A48AB3CEF08E93C4B9592BCBA635D3D7F0B4889D8B4143DAF2F76BD47E2B73B20C1023DDA05533D0EADF2BC49FD75BC1D2B433DD02954BD7086093D8913623C1D402A3CF382AFBACB4A9FBDFB92943D6C56D4BA241E093D816F2D3DE18B73BC74EE863D06F7CC3BA6254CBC7410CA3C7913A0BCED55793D4BAF2C3CC52D133D78141B3D158130BD3D8B843D0A5DFEBC371DFDBDED321CBD2A1C553D688060BD263848BDA2428DBD40F0A6BC1E19B2BC465F7D3D8529DE3C35EA513DA886BD3CBFEC293D564116BE6FBE7E3D5C5F93BDCAA9B43D4E569B3CC02300BEA871743BF5302EBBAC06713CC9DFA2BBF1B6463D1184EA3DC7BA203D11E9F9BC066F95BD43547D3D5F99893DAE828DBDFDDA62BD17B7853D86B49BBC5D81E4BCE42C923D7F1554BDE22B51BDD376F13C7C4F6CBDBDA337BDFCE608BDFE69033C5F9E293DBC39423D46228DBD6053043D27BA8BBD0381CF3C3A35BABCA6E961BD2008A2BCB5ADE83C516963BC83FF93BB9E30A13D2F2F0DBC7511B1BC1FE3EEBC9DE79B3C6FB98BBC4616A8BD7667DB3DC6FCE4BC1EC404B35F6BA8BCEC54E0BC9737823D0A7925BDAF5CA23DEEEDF2BDD32EE63D3B6C333D31540FBD9EA03F3D2A53D73D868CB5BC613C433DFFB4233C0AFBE33DA8A82ABC1A62A23DB199F9BCEC805CBC21DC76BC8AFBD5BC8C5086BDDACFE83C8575DDBB545CE43CEE09AF3D072ACABD5449C73D15ED873DD63F6D3DFC452E3D9D818F3D360AB13D931DC3BD1AE8D03CD42C2DBDAC57483C658210BD5F05CABD3691BFBC42ADA8BC9E7E7DBD1AF6AE3CB5A5463D1929383DD71D863DCF73053DC97C06BD380ACA3A2E4996BDC0360E3BAE2BC5BBB46E943DB8C95B3D40653EBB5C8C72BC2581253DDAF0AABD7C7DEF3CC8BE6DBAA14FAABCC35D00BD5A329DBD171E57BC','a6af969b4ff6713353d04b126233863aeb6ae0d77be64a6124017e6734f1c885','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
CREATE TABLE entities (
    -- A row per name (person, service, identifier, path ...) that memories of a tenant mention.
    id     INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL CHECK (name <> ''),
    run_id TEXT,
    UNIQUE (tenant, name)
) STRICT;
INSERT INTO "entities" VALUES(1,'default','Billing','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entities" VALUES(2,'default','Database','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entities" VALUES(3,'default','Oksana','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
CREATE TABLE entity_scans (
    -- A row per memory whose text a run searched for entities, whether it found any or none.
    memory_id    TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    content_hash TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "entity_scans" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','a6af969b4ff6713353d04b126233863aeb6ae0d77be64a6124017e6734f1c885','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('019cd5af-e380-756d-9483-a814448da708','044a76b77172e67ffddc4ddfcf6df6ea75589680b612035bff171196b8cb374f','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('branch-00','f47412c7b44c02c30693eac62ee36ff072d2897ed16dbd11a1553d8b58a7443f','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('branch-01','e78758c5502e5eabcccc3d3555ee0595623ae5ebdf3e94c5bbed870eb5e71385','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-00','c6702f4441558d66a33eed39a5cdfb396374b111052ee2a8eb9d85491a68eb50','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-01','9e8542ea9028901b1773177301a7232da1be5c9374700708c3d22e207c651323','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-02','62e73c2d4eea959832d3ae11f9fc597493eb61fd7f95bb69e6c2f55216336667','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-03','e05a5ad5e6c838bbdd4b16945a8a6fd9a5b9b8727b5cc2fa53d38488d6e9866c','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-04','717c6c0f252ad6deb902ba383f9924eb10ef18b05b04c99524322b427c8d7a5f','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-05','fefe1a86cf88b0c62aad55ac489f5ef4000788c8269d00dd5cd635e5509f3b67','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-06','5364981d400c678a442def7dbd8e7e10adc856565aa0f542f8ff89975230a5b6','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('oncall-07','91a1f424952844d35f6147a68e93e2b8b9d3341b7ab4b4c9b3c2b073c3ae37ec','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('twin-00','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "entity_scans" VALUES('twin-01','52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67','01a2019d-4b92-7275-9fa4-0524aaf3a00e');
CREATE TABLE journal (
    -- A row per row that a run inserted or updated, in order, with the columns that it changed as
    -- they were and as it left them. Undo reads it backwards.
    run_id     TEXT NOT NULL REFERENCES runs (id),
    sequence   INTEGER NOT NULL,
    -- The proposal's key; '' for what the run did before any proposal.
    proposal   TEXT NOT NULL,
    table_name TEXT NOT NULL,
    row_key    TEXT NOT NULL CHECK (json_valid(row_key) AND json_type(row_key) = 'object'),
    -- NULL: the row did not exist.
    before     TEXT CHECK (before IS NULL OR json_valid(before) AND json_type(before) = 'object'),
    after      TEXT NOT NULL CHECK (json_valid(after) AND json_type(after) = 'object'),
    PRIMARY KEY (run_id, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',1,'c87f96605b8b8ad2e5ad971ba490efd8','memories','{"id":"twin-01"}','{"metadata":"{}","updated_at":"2026-02-02T09:00:00+00:00"}','{"metadata":"{\"sessions\":[\"twin-0\",\"twin-1\"]}","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',2,'c87f96605b8b8ad2e5ad971ba490efd8','memories','{"id":"twin-00"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-01T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"twin-01","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',3,'c87f96605b8b8ad2e5ad971ba490efd8','synthesized_from','{"derived_id":"twin-01","source_id":"twin-00"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"twin-01","operation":"merge","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d","source_id":"twin-00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',4,'c87f96605b8b8ad2e5ad971ba490efd8','derivations','{"memory_id":"twin-01","proposal":"c87f96605b8b8ad2e5ad971ba490efd8","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e"}',NULL,'{"claims":"[{\"sources\":[\"twin-00\",\"twin-01\"],\"text\":\"Billing listens on port 8080\"}]","completion_tokens":0,"cost_usd":0.0,"inputs_hash":"da4f0892fa98a60dad974542a527c8a38bbd35c654806d9f314a74890c4f896b","memory_id":"twin-01","model":null,"operation":"merge","prompt_hash":"c7f1433a9fba6701792c8bc0753ad871fc9e0ea576abcc12f119995fd7bfe300","prompt_tokens":0,"proposal":"c87f96605b8b8ad2e5ad971ba490efd8","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","writer":"extractive"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',5,'9dba2a3ca85d1c8ed648ed03d4bbb595','memories','{"id":"019cd5af-e380-756d-9483-a814448da708"}',NULL,'{"access_count":0,"accessed_at":null,"content":"[since 2026-02-02] User renamed the default branch of the firmware repository; it is called trunk from now on. [2026-02-01 until 2026-02-02] The default branch of the firmware repository is called master.","content_hash":"044a76b77172e67ffddc4ddfcf6df6ea75589680b612035bff171196b8cb374f","created_at":"2026-03-10T03:00:00+00:00","expires_at":null,"generation":1,"id":"019cd5af-e380-756d-9483-a814448da708","importance":3,"kind":"fact","layer":"stable","metadata":"{\"sessions\":[\"branch-0\",\"branch-1\"]}","observed_at":"2026-02-02T09:00:00+00:00","origin":"consolidation","pinned":0,"session":null,"source":null,"status":"active","superseded_at":null,"superseded_by":null,"tags":"[]","tenant":"default","trust":0.45,"updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',6,'9dba2a3ca85d1c8ed648ed03d4bbb595','synthesized_from','{"derived_id":"019cd5af-e380-756d-9483-a814448da708","source_id":"branch-00"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-756d-9483-a814448da708","operation":"update","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"f47412c7b44c02c30693eac62ee36ff072d2897ed16dbd11a1553d8b58a7443f","source_id":"branch-00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',7,'9dba2a3ca85d1c8ed648ed03d4bbb595','synthesized_from','{"derived_id":"019cd5af-e380-756d-9483-a814448da708","source_id":"branch-01"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-756d-9483-a814448da708","operation":"update","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"e78758c5502e5eabcccc3d3555ee0595623ae5ebdf3e94c5bbed870eb5e71385","source_id":"branch-01"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',8,'9dba2a3ca85d1c8ed648ed03d4bbb595','memories','{"id":"branch-00"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-01T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-756d-9483-a814448da708","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',9,'9dba2a3ca85d1c8ed648ed03d4bbb595','memories','{"id":"branch-01"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-02T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-756d-9483-a814448da708","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',10,'9dba2a3ca85d1c8ed648ed03d4bbb595','derivations','{"memory_id":"019cd5af-e380-756d-9483-a814448da708","proposal":"9dba2a3ca85d1c8ed648ed03d4bbb595","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e"}',NULL,'{"claims":"[{\"sources\":[\"branch-01\"],\"text\":\"[since 2026-02-02] User renamed the default branch of the firmware repository; it is called trunk from now on.\"},{\"sources\":[\"branch-00\",\"branch-01\"],\"text\":\"[2026-02-01 until 2026-02-02] The default branch of the firmware repository is called master.\"}]","completion_tokens":0,"cost_usd":0.0,"inputs_hash":"aa0ffbbc771da9597e834c8221136793aebaf5f7e61d4f1b1ec4cf19d57dccba","memory_id":"019cd5af-e380-756d-9483-a814448da708","model":null,"operation":"update","prompt_hash":"6db82a3a152d56b75c01bab08a556331c255073cfebcd18b23826e89d6598628","prompt_tokens":0,"proposal":"9dba2a3ca85d1c8ed648ed03d4bbb595","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","writer":"extractive"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',11,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"019cd5af-e380-7141-8afd-c6b763157a82"}',NULL,'{"access_count":0,"accessed_at":null,"content":"Oksana is on call for the databases at weekends. Database pages on a weekend go to Oksana. User said Oksana carries the database pager over the weekend. Weekend on-call duty for the databases belongs to Oksana. Checked the rota, and Oksana has the database shift every weekend. Oksana covers the databases on weekends, according to the duty roster.","content_hash":"a6af969b4ff6713353d04b126233863aeb6ae0d77be64a6124017e6734f1c885","created_at":"2026-03-10T03:00:00+00:00","expires_at":null,"generation":1,"id":"019cd5af-e380-7141-8afd-c6b763157a82","importance":3,"kind":"fact","layer":"stable","metadata":"{\"sessions\":[\"oncall-0\",\"oncall-1\",\"oncall-2\",\"oncall-4\",\"oncall-5\",\"oncall-7\"]}","observed_at":"2026-02-08T09:00:00+00:00","origin":"consolidation","pinned":0,"session":null,"source":null,"status":"active","superseded_at":null,"superseded_by":null,"tags":"[]","tenant":"default","trust":0.45,"updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',12,'183c7cc0690915e46d7065c414ff9bae','synthesized_from','{"derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","source_id":"oncall-00"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","operation":"synthesize","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"c6702f4441558d66a33eed39a5cdfb396374b111052ee2a8eb9d85491a68eb50","source_id":"oncall-00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',13,'183c7cc0690915e46d7065c414ff9bae','synthesized_from','{"derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","source_id":"oncall-01"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","operation":"synthesize","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"9e8542ea9028901b1773177301a7232da1be5c9374700708c3d22e207c651323","source_id":"oncall-01"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',14,'183c7cc0690915e46d7065c414ff9bae','synthesized_from','{"derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","source_id":"oncall-02"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","operation":"synthesize","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"62e73c2d4eea959832d3ae11f9fc597493eb61fd7f95bb69e6c2f55216336667","source_id":"oncall-02"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',15,'183c7cc0690915e46d7065c414ff9bae','synthesized_from','{"derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","source_id":"oncall-04"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","operation":"synthesize","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"717c6c0f252ad6deb902ba383f9924eb10ef18b05b04c99524322b427c8d7a5f","source_id":"oncall-04"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',16,'183c7cc0690915e46d7065c414ff9bae','synthesized_from','{"derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","source_id":"oncall-05"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","operation":"synthesize","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"fefe1a86cf88b0c62aad55ac489f5ef4000788c8269d00dd5cd635e5509f3b67","source_id":"oncall-05"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',17,'183c7cc0690915e46d7065c414ff9bae','synthesized_from','{"derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","source_id":"oncall-07"}',NULL,'{"created_at":"2026-03-10T03:00:00+00:00","derived_id":"019cd5af-e380-7141-8afd-c6b763157a82","operation":"synthesize","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","source_content":null,"source_hash":"91a1f424952844d35f6147a68e93e2b8b9d3341b7ab4b4c9b3c2b073c3ae37ec","source_id":"oncall-07"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',18,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"oncall-00"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-01T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-7141-8afd-c6b763157a82","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',19,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"oncall-01"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-02T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-7141-8afd-c6b763157a82","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',20,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"oncall-02"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-03T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-7141-8afd-c6b763157a82","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',21,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"oncall-04"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-05T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-7141-8afd-c6b763157a82","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',22,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"oncall-05"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-06T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-7141-8afd-c6b763157a82","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',23,'183c7cc0690915e46d7065c414ff9bae','memories','{"id":"oncall-07"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-02-08T09:00:00+00:00"}','{"status":"superseded","superseded_at":"2026-03-10T03:00:00+00:00","superseded_by":"019cd5af-e380-7141-8afd-c6b763157a82","updated_at":"2026-03-10T03:00:00+00:00"}');
INSERT INTO "journal" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e',24,'183c7cc0690915e46d7065c414ff9bae','derivations','{"memory_id":"019cd5af-e380-7141-8afd-c6b763157a82","proposal":"183c7cc0690915e46d7065c414ff9bae","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e"}',NULL,'{"claims":"[{\"sources\":[\"oncall-00\"],\"text\":\"Oksana is on call for the databases at weekends.\"},{\"sources\":[\"oncall-01\"],\"text\":\"Database pages on a weekend go to Oksana.\"},{\"sources\":[\"oncall-02\"],\"text\":\"User said Oksana carries the database pager over the weekend.\"},{\"sources\":[\"oncall-04\"],\"text\":\"Weekend on-call duty for the databases belongs to Oksana.\"},{\"sources\":[\"oncall-05\"],\"text\":\"Checked the rota, and Oksana has the database shift every weekend.\"},{\"sources\":[\"oncall-07\"],\"text\":\"Oksana covers the databases on weekends, according to the duty roster.\"}]","completion_tokens":0,"cost_usd":0.0,"inputs_hash":"1e9e23000f3258462c1acdc5e0042971a17e2c4ef86e78e53612608b08dc3563","memory_id":"019cd5af-e380-7141-8afd-c6b763157a82","model":null,"operation":"synthesize","prompt_hash":"f74a5cab2996d57921dfcb0e7ab5a2448ef97a472b1f47f964e9c9545ce9d508","prompt_tokens":0,"proposal":"183c7cc0690915e46d7065c414ff9bae","run_id":"01a2019d-4b92-7275-9fa4-0524aaf3a00e","writer":"extractive"}');
CREATE TABLE memories (
    -- A row per memory: a short text that an agent or a person stored, or that a run derived.
    id            TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))),
    tenant        TEXT NOT NULL DEFAULT 'default' CHECK (tenant <> ''),
    content       TEXT NOT NULL CHECK (content <> ''),
    kind          TEXT NOT NULL DEFAULT 'fact'
                  CHECK (kind IN ('fact', 'preference', 'instruction', 'context')),
    layer         TEXT NOT NULL DEFAULT 'working'
                  CHECK (layer IN ('ephemeral', 'working', 'stable', 'core')),
    status        TEXT NOT NULL DEFAULT 'active'
                  CHECK (status IN ('active', 'superseded', 'archived', 'expired')),
    origin        TEXT NOT NULL DEFAULT 'agent'
                  CHECK (origin IN ('human', 'agent', 'consolidation')),
    trust         REAL NOT NULL DEFAULT 0.5 CHECK (trust BETWEEN 0 AND 1),
    importance    INTEGER NOT NULL DEFAULT 3 CHECK (importance BETWEEN 1 AND 5),
    pinned        INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    generation    INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
    source        TEXT,
    session       TEXT,
    tags          TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags) AND json_type(tags) = 'array'),
    metadata      TEXT NOT NULL DEFAULT '{}'
                  CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
    -- sha256 of the content; NULL where a writer that knows only SQL did not compute it.
    content_hash  TEXT,
    access_count  INTEGER NOT NULL DEFAULT 0 CHECK (access_count >= 0),
    -- Times are ISO 8601, in UTC where no offset says otherwise; one that is no date is refused.
    -- observed_at: when it was true or said, not when it was stored.
    observed_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'))
                  CHECK (date(substr(observed_at, 1, 10), '+0 days') IS substr(observed_at, 1, 10)),
    created_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'))
                  CHECK (date(substr(created_at, 1, 10), '+0 days') IS substr(created_at, 1, 10)),
    updated_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'))
                  CHECK (date(substr(updated_at, 1, 10), '+0 days') IS substr(updated_at, 1, 10)),
    accessed_at   TEXT
                  CHECK (date(substr(accessed_at, 1, 10), '+0 days') IS substr(accessed_at, 1, 10)),
    expires_at    TEXT
                  CHECK (date(substr(expires_at, 1, 10), '+0 days') IS substr(expires_at, 1, 10)),
    superseded_by TEXT REFERENCES memories (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    superseded_at TEXT
                  CHECK (date(substr(superseded_at, 1, 10), '+0 days')
                         IS substr(superseded_at, 1, 10))
) STRICT;
INSERT INTO "memories" VALUES('twin-00','default','Billing listens on port 8080.','fact','working','superseded','agent',0.5,3,0,0,NULL,'twin-0','[]','{}','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d',0,'2026-02-01T09:00:00+00:00','2026-02-01T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'twin-01','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('twin-01','default','Billing listens on port 8080','fact','working','active','agent',0.5,3,0,0,NULL,'twin-1','[]','{"sessions":["twin-0","twin-1"]}','52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67',0,'2026-02-02T09:00:00+00:00','2026-02-02T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,NULL,NULL);
INSERT INTO "memories" VALUES('oncall-00','default','Oksana is on call for the databases at weekends.','fact','working','superseded','agent',0.5,3,0,0,NULL,'oncall-0','[]','{}','c6702f4441558d66a33eed39a5cdfb396374b111052ee2a8eb9d85491a68eb50',0,'2026-02-01T09:00:00+00:00','2026-02-01T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-7141-8afd-c6b763157a82','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('oncall-01','default','Database pages on a weekend go to Oksana.','fact','working','superseded','agent',0.5,3,0,0,NULL,'oncall-1','[]','{}','9e8542ea9028901b1773177301a7232da1be5c9374700708c3d22e207c651323',0,'2026-02-02T09:00:00+00:00','2026-02-02T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-7141-8afd-c6b763157a82','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('oncall-02','default','User said Oksana carries the database pager over the weekend.','fact','working','superseded','agent',0.5,3,0,0,NULL,'oncall-2','[]','{}','62e73c2d4eea959832d3ae11f9fc597493eb61fd7f95bb69e6c2f55216336667',0,'2026-02-03T09:00:00+00:00','2026-02-03T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-7141-8afd-c6b763157a82','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('oncall-03','default','At the weekend the person on duty for database trouble is Oksana.','fact','working','active','agent',0.5,3,0,0,NULL,'oncall-3','[]','{}','e05a5ad5e6c838bbdd4b16945a8a6fd9a5b9b8727b5cc2fa53d38488d6e9866c',0,'2026-02-04T09:00:00+00:00','2026-02-04T09:00:00+00:00','2026-02-04T09:00:00+00:00',NULL,NULL,NULL,NULL);
INSERT INTO "memories" VALUES('oncall-04','default','Weekend on-call duty for the databases belongs to Oksana.','fact','working','superseded','agent',0.5,3,0,0,NULL,'oncall-4','[]','{}','717c6c0f252ad6deb902ba383f9924eb10ef18b05b04c99524322b427c8d7a5f',0,'2026-02-05T09:00:00+00:00','2026-02-05T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-7141-8afd-c6b763157a82','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('oncall-05','default','Checked the rota, and Oksana has the database shift every weekend.','fact','working','superseded','agent',0.5,3,0,0,NULL,'oncall-5','[]','{}','fefe1a86cf88b0c62aad55ac489f5ef4000788c8269d00dd5cd635e5509f3b67',0,'2026-02-06T09:00:00+00:00','2026-02-06T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-7141-8afd-c6b763157a82','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('oncall-06','default','If a database breaks on a weekend, Oksana is the one who gets called.','fact','working','active','agent',0.5,3,0,0,NULL,'oncall-6','[]','{}','5364981d400c678a442def7dbd8e7e10adc856565aa0f542f8ff89975230a5b6',0,'2026-02-07T09:00:00+00:00','2026-02-07T09:00:00+00:00','2026-02-07T09:00:00+00:00',NULL,NULL,NULL,NULL);
INSERT INTO "memories" VALUES('oncall-07','default','Oksana covers the databases on weekends, according to the duty roster.','fact','working','superseded','agent',0.5,3,0,0,NULL,'oncall-7','[]','{}','91a1f424952844d35f6147a68e93e2b8b9d3341b7ab4b4c9b3c2b073c3ae37ec',0,'2026-02-08T09:00:00+00:00','2026-02-08T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-7141-8afd-c6b763157a82','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('branch-00','default','The default branch of the firmware repository is called master.','fact','working','superseded','agent',0.5,3,0,0,NULL,'branch-0','[]','{}','f47412c7b44c02c30693eac62ee36ff072d2897ed16dbd11a1553d8b58a7443f',0,'2026-02-01T09:00:00+00:00','2026-02-01T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-756d-9483-a814448da708','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('branch-01','default','User renamed the default branch of the firmware repository; it is called trunk from now on.','fact','working','superseded','agent',0.5,3,0,0,NULL,'branch-1','[]','{}','e78758c5502e5eabcccc3d3555ee0595623ae5ebdf3e94c5bbed870eb5e71385',0,'2026-02-02T09:00:00+00:00','2026-02-02T09:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'019cd5af-e380-756d-9483-a814448da708','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('019cd5af-e380-756d-9483-a814448da708','default','[since 2026-02-02] User renamed the default branch of the firmware repository; it is called trunk from now on. [2026-02-01 until 2026-02-02] The default branch of the firmware repository is called master.','fact','stable','active','consolidation',0.45,3,0,1,NULL,NULL,'[]','{"sessions":["branch-0","branch-1"]}','044a76b77172e67ffddc4ddfcf6df6ea75589680b612035bff171196b8cb374f',0,'2026-02-02T09:00:00+00:00','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,NULL,NULL);
INSERT INTO "memories" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','default','Oksana is on call for the databases at weekends. Database pages on a weekend go to Oksana. User said Oksana carries the database pager over the weekend. Weekend on-call duty for the databases belongs to Oksana. Checked the rota, and Oksana has the database shift every weekend. Oksana covers the databases on weekends, according to the duty roster.','fact','stable','active','consolidation',0.45,3,0,1,NULL,NULL,'[]','{"sessions":["oncall-0","oncall-1","oncall-2","oncall-4","oncall-5","oncall-7"]}','a6af969b4ff6713353d04b126233863aeb6ae0d77be64a6124017e6734f1c885',0,'2026-02-08T09:00:00+00:00','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,NULL,NULL);
CREATE TABLE memory_entities (
    -- A row per mention of an entity in a memory.
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    -- The run that found it; NULL: whoever stored the memory named it.
    run_id    TEXT,
    PRIMARY KEY (memory_id, entity_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "memory_entities" VALUES('019cd5af-e380-7141-8afd-c6b763157a82',2,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('019cd5af-e380-7141-8afd-c6b763157a82',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-00',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-01',2,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-01',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-02',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-03',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-04',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-05',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-06',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('oncall-07',3,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('twin-00',1,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
INSERT INTO "memory_entities" VALUES('twin-01',1,'01a2019d-4b92-7275-9fa4-0524aaf3a00e');
CREATE TABLE proposals (
    -- A row per proposal that a run decided: the ledger, and the queue of what waits for review.
    run_id     TEXT NOT NULL REFERENCES runs (id),
    -- sha256 of operation, sorted source hashes, prompt hash and writer.
    key        TEXT NOT NULL,
    operation  TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract', 'update')),
    tenant     TEXT NOT NULL,
    sources    TEXT NOT NULL CHECK (json_valid(sources) AND json_type(sources) = 'array'),
    survivor   TEXT,
    derived    TEXT,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'applied', 'rejected',
               'declined', 'failed', 'skipped', 'stale', 'undone')),
    draft      TEXT,
    reason     TEXT NOT NULL,
    why        TEXT,
    numbers    TEXT NOT NULL CHECK (json_valid(numbers) AND json_type(numbers) = 'object'),
    decided_at TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "proposals" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e','183c7cc0690915e46d7065c414ff9bae','synthesize','default','["oncall-00","oncall-01","oncall-02","oncall-04","oncall-05","oncall-07"]',NULL,'019cd5af-e380-7141-8afd-c6b763157a82','applied','Oksana is on call for the databases at weekends. Database pages on a weekend go to Oksana. User said Oksana carries the database pager over the weekend. Weekend on-call duty for the databases belongs to Oksana. Checked the rota, and Oksana has the database shift every weekend. Oksana covers the databases on weekends, according to the duty roster.','6 memories share Oksana, mean similarity 0.75',NULL,'{"estimated_tokens":648,"mean_similarity":0.7457,"min_similarity":0.6516}','2026-03-10T03:00:00+00:00');
INSERT INTO "proposals" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e','9dba2a3ca85d1c8ed648ed03d4bbb595','update','default','["branch-00","branch-01"]',NULL,'019cd5af-e380-756d-9483-a814448da708','applied','[since 2026-02-02] User renamed the default branch of the firmware repository; it is called trunk from now on. [2026-02-01 until 2026-02-02] The default branch of the firmware repository is called master.','a newer name: trunk after master, mean similarity 0.73',NULL,'{"estimated_tokens":0,"mean_similarity":0.7341,"min_similarity":0.7341}','2026-03-10T03:00:00+00:00');
INSERT INTO "proposals" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e','c87f96605b8b8ad2e5ad971ba490efd8','merge','default','["twin-00","twin-01"]','twin-01',NULL,'applied','Billing listens on port 8080','2 memories say the same, mean similarity 0.95',NULL,'{"estimated_tokens":0,"mean_similarity":0.9532,"min_similarity":0.9532}','2026-03-10T03:00:00+00:00');
CREATE TABLE runs (
    -- A row per execution of the cycle that had something to write.
    id          TEXT PRIMARY KEY NOT NULL,
    started_at  TEXT NOT NULL,
    finished_at TEXT,
    version     TEXT NOT NULL,
    options     TEXT NOT NULL CHECK (json_valid(options) AND json_type(options) = 'object'),
    -- sha256 of the plan; NULL until the run has ended by itself.
    plan        TEXT,
    outcome     TEXT NOT NULL DEFAULT 'running' CHECK (outcome IN
                ('running', 'done', 'partial', 'failed', 'interrupted', 'undone')),
    -- The report's "before", "after" and "model", as JSON.
    report      TEXT CHECK (report IS NULL OR json_valid(report) AND json_type(report) = 'object')
) STRICT;
INSERT INTO "runs" VALUES('01a2019d-4b92-7275-9fa4-0524aaf3a00e','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00','0.1.0','{}','dc7647792640f5c4ebd8e49632c34fd84de0c733f52856775b92860f4979c317','done','{"after":{"active":5,"layers":{"core":0,"ephemeral":0,"stable":2,"working":3},"superseded":9},"before":{"active":12,"layers":{"core":0,"ephemeral":0,"stable":0,"working":12},"superseded":0},"model":{"cached":0,"calls":0,"completion_tokens":0,"cost_usd":0.0,"prompt_tokens":0},"states":{"applied":3}}');
CREATE TABLE synthesized_from (
    -- A row per edge of lineage: `derived_id` was made from `source_id`, or absorbed it in a merge.
    -- No foreign keys: lineage outlives the rows that it speaks of.
    derived_id     TEXT NOT NULL,
    source_id      TEXT NOT NULL,
    operation      TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract', 'update')),
    run_id         TEXT NOT NULL,
    source_hash    TEXT NOT NULL,
    -- The source's text, kept when the source itself leaves the file.
    source_content TEXT,
    created_at     TEXT NOT NULL,
    PRIMARY KEY (derived_id, source_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','oncall-00','synthesize','01a2019d-4b92-7275-9fa4-0524aaf3a00e','c6702f4441558d66a33eed39a5cdfb396374b111052ee2a8eb9d85491a68eb50',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','oncall-01','synthesize','01a2019d-4b92-7275-9fa4-0524aaf3a00e','9e8542ea9028901b1773177301a7232da1be5c9374700708c3d22e207c651323',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','oncall-02','synthesize','01a2019d-4b92-7275-9fa4-0524aaf3a00e','62e73c2d4eea959832d3ae11f9fc597493eb61fd7f95bb69e6c2f55216336667',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','oncall-04','synthesize','01a2019d-4b92-7275-9fa4-0524aaf3a00e','717c6c0f252ad6deb902ba383f9924eb10ef18b05b04c99524322b427c8d7a5f',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','oncall-05','synthesize','01a2019d-4b92-7275-9fa4-0524aaf3a00e','fefe1a86cf88b0c62aad55ac489f5ef4000788c8269d00dd5cd635e5509f3b67',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-7141-8afd-c6b763157a82','oncall-07','synthesize','01a2019d-4b92-7275-9fa4-0524aaf3a00e','91a1f424952844d35f6147a68e93e2b8b9d3341b7ab4b4c9b3c2b073c3ae37ec',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-756d-9483-a814448da708','branch-00','update','01a2019d-4b92-7275-9fa4-0524aaf3a00e','f47412c7b44c02c30693eac62ee36ff072d2897ed16dbd11a1553d8b58a7443f',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('019cd5af-e380-756d-9483-a814448da708','branch-01','update','01a2019d-4b92-7275-9fa4-0524aaf3a00e','e78758c5502e5eabcccc3d3555ee0595623ae5ebdf3e94c5bbed870eb5e71385',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('twin-01','twin-00','merge','01a2019d-4b92-7275-9fa4-0524aaf3a00e','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d',NULL,'2026-03-10T03:00:00+00:00');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX memories_by_status ON memories (tenant, status, layer);
CREATE INDEX memories_by_content ON memories (content_hash);
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX embeddings_by_run ON embeddings (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX memory_entities_by_entity ON memory_entities (entity_id);
CREATE INDEX synthesized_from_by_source ON synthesized_from (source_id);
CREATE INDEX proposals_by_key ON proposals (key);
CREATE TRIGGER memories_content_changed AFTER UPDATE OF content ON memories
WHEN new.content IS NOT old.content AND new.content_hash IS old.content_hash
BEGIN
    UPDATE memories SET content_hash = NULL WHERE id = new.id;
END;
CREATE TRIGGER memories_leave AFTER DELETE ON memories
BEGIN
    UPDATE synthesized_from SET source_content = old.content
    WHERE source_id = old.id AND source_content IS NULL;
    UPDATE memories SET superseded_by = NULL WHERE superseded_by = old.id;
    DELETE FROM embeddings WHERE memory_id = old.id;
    DELETE FROM memory_entities WHERE memory_id = old.id;
    DELETE FROM entity_scans WHERE memory_id = old.id;
END;
COMMIT;
