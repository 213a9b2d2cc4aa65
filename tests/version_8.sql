PRAGMA application_id = 1936488311;
PRAGMA user_version = 8;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'slowwave','version_1','2026-11-24 03:35:42.931134+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'slowwave','version_2','2026-11-24 03:35:42.934324+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'slowwave','version_3','2026-11-24 03:35:42.935218+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'slowwave','version_4','2026-11-24 03:35:42.935377+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'slowwave','version_5','2026-11-24 03:35:42.935522+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'slowwave','version_6','2026-11-24 03:35:42.935694+00:00');
INSERT INTO "_sqlite_migrations" VALUES(7,'slowwave','version_9','2026-11-25 02:01:10.304577+00:00');
INSERT INTO "_sqlite_migrations" VALUES(8,'slowwave','version_8','2026-11-25 02:44:31.043589+00:00');
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
CREATE TABLE asked (
    -- A row per text that a model was shown among its neighbours: no later night asks about it, but
    -- with something new beside it.
    tenant       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- A hash of the model and of what it was told to do.
    key          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (tenant, content_hash, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE changes (
    -- A row per tenant: how often something changed in it that a plan depends on.
    tenant TEXT PRIMARY KEY NOT NULL,
    count  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "changes" VALUES('on call',100);
INSERT INTO "changes" VALUES('shared',6);
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
INSERT INTO "derivations" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','1458ca0444a0e5c22d7c2689d84c8e8f','synthesize','extractive',NULL,'f74a5cab2996d57921dfcb0e7ab5a2448ef97a472b1f47f964e9c9545ce9d508','c04de861638b32999129751c612c1537c96f06bc1809cfac6f91142bf30d1873','[{"checked_by":null,"sources":["7a92445d-1916-5d5b-8aa5-20f52e6e0a38","a69b07fc-e3d2-547e-956a-2b9002614a53"],"text":"At weekends Oksana carries the database pager until 22:00 and is paid extra for it.","written_by":null},{"checked_by":null,"sources":["23bcb7cd-f99f-51d3-b956-fcb06bcf03f1","3b8a94b4-c404-5039-897b-f4c590497d01","551b85f1-61d7-5fd2-9d53-23eefdf042c6","c824c37b-2465-5869-bcb1-46f767067bd8","e8b5c38e-f2ae-54ad-be86-b0e88b339e10","fee28b49-20b7-5afa-815b-c05d214f6655"],"text":"Oksana answers the database pager at weekends until 22:00, on her second phone.","written_by":null}]',0,0,0.0);
INSERT INTO "derivations" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','acb4eef0cb3c9c01fc323f4a2fd39d7b','merge','extractive',NULL,'c7f1433a9fba6701792c8bc0753ad871fc9e0ea576abcc12f119995fd7bfe300','da4f0892fa98a60dad974542a527c8a38bbd35c654806d9f314a74890c4f896b','[{"checked_by":null,"sources":["294d0e56-6931-53bc-af87-ec6f38761f58","32ded619-b121-533a-98de-d8c2ae46457e"],"text":"Billing listens on port 8080.","written_by":null}]',0,0,0.0);
CREATE TABLE disputes (
    -- A row per pair of texts of which a model said that both cannot be true.
    tenant       TEXT NOT NULL,
    earlier_hash TEXT NOT NULL,
    later_hash   TEXT NOT NULL,
    why          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (tenant, earlier_hash, later_hash)
) STRICT, WITHOUT ROWID;
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
INSERT INTO "embeddings" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58','all-MiniLM-L6-v2',384,X'756D66BD423AF33C707053BDC3BCF8BDA12449BD592674BD5960A4BCDF3396BDAD46453D8F6159BDA0EA88B91FE1DB3DB1C0A7BC5B7B903C8402DA3CE84B97BD407A1EBD91977BBCEC254D3CC08F143C507567BB14388C3D1E18AFBDC9BB2BBDB8A7AEBCAFEA8D3CB3DE11BB69D6713D7F7D9F3CF9756EBDB1D0FF3A3594D5BC2C39D73C96424CBDFF7489BD6171FBBB71FEF43C0390CC3B1B7671BD9E46423DEA5BA63DFA9F8DBC7BA081BB62820EBD98B6C53CBB7FD8B9ABC89BB979E5013D39CAEC3BE2D18A3C37FD463C42566ABD9E73493CE7F6563D5C01B5BD036BB0BCF914593DAE72FE3C3FB3963C0FCCDA3C697951BD969DCF3CC112B33BA87B0B3DBAACB4BDFC80493C5284DDBCA3258B3DAEC090BDFF3F8EBD781A01BD47CC3C3D62FC2CBD9F5722BD3E8DD93DFFE83A3D3080823D0EAFCFBBD82D223D29B915BD1BA355BD2FF6EEBD45F574BDF29F283DAE6B273B5960B93CB08771BC38BA1D3C5733C83D5105E4BB297D52BD11C39B3B5084D93B3AFD1D3C137A093CA880183D294FF4BB923F7EBCCFCF70BC2FB661BA99EB923D5005633D34B8EB3C292FC43C619D923D5783A5BDF8869CBC9871033EE5DE6C3DAFFF31BD427B0EBC521779BD53898A3D7D149F3BA08694BDE88D973D9291A63CC5D832BC0D7CB8BC1CA2C3BC72A960BC4723F63C288D32BD726B8ABD2CD7833C69686D3DEB8E123D07D10989B79E1F3DC7EB45BCD6AB1F3DEFAED2BD1622BB3DFE501DBC34CEB43A382A113D14F1D53CC58E093DF437A43BC1D4343DC54A563D8B45BBBC5D3A41BD42447FBC902311BD5C43683D286019BDE2C5F73D613330BAA9B1BDBD22CB3A3C1B3A4FBD7D74783C8067913D1FF45DBC3B899C3CC429C43C346CB93CE3BBB13D73DDE6BCAE81A0BC1BB7943DE0CB243D305C84BC985CE13C7CF685BB5E03783CA9A1A5BB53CE903CB2A0C9BD72449CBD6461393D76B593BC03B98D3CA7E5153D4E10AABC3FCECD3D760BF43D705234BDE7BC35BD6211A3BDFFC5A93D83538C3BD32E8E3CDFF7C8BC86C8243D58D289BD4DBB96BD940704BD86353F3DC17BDFBC48EFA5BC559B28BD1C0CD2BB93A5AB3C842287BC625DBFBC1E45A23C10D4863D25A40FBC9C9AE23D62C6943D86E7A3BDBEF8D13DEA8E02BD30619A3DF994493DC3C1853DE2F8C7BCC0EB1A3D36F80CBCAA2DB33DB6C9CA3CF52B523C38A74C3D038DB5BC4C39F73C46B7FF3CA1E839BDD5A4E43DA17F9C3C0D1194BD1F42E5BC6FB5ED87FBEAA9BDAD8AFF3C384DA5BC0E4398BBB2A2CDBDA23D20BDABCE493D3C8A9B3DDACDBD3CEDDC373B5C2ABA3C3BC18C3DEF87F63B6233843D6C7B0CBCCA5743BDB529803CF59FB4BCC1449A3DAE200A3DCED75DBDE8D9193D4D5BC13D67994B3D7757943B9733BBBCC1A6C13C24A03BBDC71212BD412928BD31088A3B90EBF9BABFB114BD45832C3BC986EDBC9386E13B698D0A3DDDE8D03D4399433D03267CBDD5CD18BCED5EECBDE7FFB23CFF005E3C31FF04BDA7AA5CBDC1B829BCA074F1BB966AC0BDB1C65BBAAC4611BDDADAE53CE4128C3D82F5A23D6169E1BD453BE73D5E23A33D9AA80E3D7F6B823C2DDF3E3D7AC88A3D1CFE97BD565257BD3B46A9BC3DD559BCF721233D30CF863D9BE18C3CDD9D943D02E9BABC915E10BD142889BDA5F10C3CCC449B3CB49A8BBBBB744E3DE00995BD68A13CBDAC7E54BD324570BC7371A2BA4464E7BC4A24A1BD1B3187BD699D14BD7234AEBD0EA2033B1A375CBD8FA2D2BC06234FBD43C5ADBDDD92A03CCBCFF8BDE04AA43D277FA3BDB0277AB2A707B73C9F319F3C3F0B2F3DD53E31BC0ECB7DBD67175CBDB29DDC3CBABBC0BCC5C34FBDF30D763D4C84EE3AB24517BC13384DBD187BCB3C4A2CBF3DBAB74EBDE847C0BCDEAD31BDDDDAF7BC34F41DBB2458A8BCFB0BC43C8E72463C889BF2BC047CDFBCF18E7CBD90EEC53DFE80833CED9DBCBBFB7AADBD3E06B9BBCA7CC33D210204BDF6EF10BDD90A85BD4D3AACBCF2F3BFBDE2AB36BD4433ACBC11D7873CCE43AF3B2950F8BCAE5967BD01E7AEBCF65C423D711F253D68324D3D00568D3CCDF0A93DAFF461BD3398FF3C6B07A63C6D690E3EB30F9FBD1678443D4B74163C05D6BFBC55FBFDBDD746D23B6F15AC3DFF3627BDB46BB33DAABAC13D6595A0BC','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
INSERT INTO "embeddings" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','all-MiniLM-L6-v2',384,X'7E1C9CBD2358603C946528BBF50D58BDC8C491BD7721033CECE65CBDE44518BCBF3B57BC52F350BAB034443DE947283DFF09E33C1D0017BD147D04BDF06C0BBDD680183D115251BC6ACA80BDE8B53ABD49D555BD3EB0BFBCC8C3A13D68B555BCFC32C23CBB97BDBA0E0DBD3BF157053DBB6C413D1F5773BD9252E13C746D1B3DEA1D13BA1D9A603D1FDE99BC6E58FBBCA91B54BC0CD2313DD26998BCDAFA7A3A96754E3CCA759FBD604F9CBDE2DC6B3D943E24BDC90875BDE9EA44BD6D3A1E3D303ADF3C58D9663DA44AA53C099D15BCA02870BC2674903CBECD38BD2150CE3D07994ABC8FAFA7BCA7DA433C358CCA3D1473BBBC6DE69E3D8D8458BD858B103CBBFD80BDEEEDCE3C8196B5BB6BCAA2BCA14A183DCD5266BDFF65CBBD4A5F713C92091D3D6CC09F3C1B38383C2C2D84BC6BDA373D3FA2FDBB1747D33BD8CE14BD092DF3BC2B456FBD4DA4C33C98DDAE3CAC2AA0BCCBE365BD8E1823BDEBCDCB3DD860ED3D06323F3CE13E883D67FD033D8D5321BDA19ABABD07CCCDBD93BE36BD5783CDBD7B76A63CD97F7F3DD448083DB7F3B63C4122563D66CC193C950B683C62243EBD9C1BC3BD589DB73DD54FBEBC15BA97BD7E4B723DB70B2C3D489018BC7890683DBF03CFBDD76751BD50B5533DD8501ABD839F71BC211DAA3DBC262DBD564EBDBC80ECD73C6BCD6EBD0CC181BD6A8C3DBD19A2F6BABC53BA3BE70791095552BB3CC835DE3C9DC80F3DE3CC73BDE1E59B3C26C56D3D0F132D3DE8F1503D723112BDB02DDB3C2B68BFBD9A9C12BD215BF0BC8FF1B6BD314EC5BA225B013DFDB8A2BB05807F3D562AB13CDB03EC3C3FB8A23D746CF4BD5BB5BBBBF69AC03CBBEDFA3D3F1D42BB17F41BBC9AA937BCE9DCE93D1E6E10BCE8BEDB3C424F7DBD85EBC7BC73A0173D46C3FB3C89DBEA3A951B173BDB0F783B6FEAEFBCCBFC8BBD6A537DBD3819063CC8A0BFBCE3B5BFBBD670D8BCEEC4B13C6E7072BBA0291ABD3C60373DA614433D4B2F2EBD655709BCAD3759BD35819D3D8E9194BCA69EEC3CF8372F3D797EBDBD24F1863D96B814BCF0C1213D4242AEBB882797BCC43BC6BD2148F3BC51959CBCF02B2FBC6A9757BDC779473CDCD321BDEC649D3DB847023D205A893DBC81A2BC1F4D53BD215F7F3DE4B3C5BC933BF2BCF661CEBC81B4893DB270133E744803BD1115CBBC8C8D5A3D36ADC63C58141C3D3E3CA33CD1D2F7BC7E7924BD411E863DC61BBEBC57A7003DC590CC3C29CE9D3C78434B3DEEE59D89D237253D6A92A8BD79991C3C5A44933DA7A6DA3DBE9D87BD9FE00BBC2B96F23D5CD9E63B65FBA33CECED71BCB94036BC2E3AA33DEB2999BD60E7493D368E743B0C70503D2AF0CE3B4F4EE6BBA224753D36E9483B32EA62B99DC8BE3B037268BC9EB3D33DE72CE73B5303353D923E823CF17AB9BD53C8C33D010C70BDA4E2E9BD2A4B88BD4D7A093DCEA650BD040C55BD87E543BD8EE6F03BC9F1D5BBA684C33D1BA3203D3C67463D3AC6483CA83B013DBF48A6BDCA963A3D0A91823C7A7ECD3C1A3786BCA46FDEBD66540CBB306B8BBCDB358F3C65CD5B3C8DB50B3C441EA83D6A59993D3C54A7BC774A32BDC868853C4C47A63DF7EB97BDE1D161BD5E63BA3D6F7715BB71822DBDECB8E43DFF5061BB3CDA17BC7B80F93C2D3C93BDE7EA74BCBEAE98BC28E7103C769F203DB0A0B43D70FDE0BC8895453C9A2089BDFE780ABCB37846BDFD3EFBBC34C5F2BC5E1B7BBD9984863CA492EEBCDAF5523DAEBC08BD57CC30BD72DABBBC0773703CA7B625BD0667A2BD97FB103E834448BD3188EBB2C4C84ABBE3849ABD61A6C63C7565A8BDDE4DAF3DC540D2BD2170E13D9EA4203D2202A2BC4806A83C875D113EF2E510BC89834E3DD923B93C7110AD3D86C7B4BCE207C93DE73B56BD906947BC4480C5BCF57D693C315707BDF8DEDD3C875D9EBCFBF812BB4E28883DB08537BD3167E73DD840823C0C2EA13ABBC5EC3C232B913DFA7C373DD88384BD854F563C5FF150BD621D17BB88C557BDD755EFBDA8185E3DF2F3933C1B401ABDDDB029BD40BEF13C15DAA13D8169BA3CCF5B3CBB18CE41BDB4B1B03AB7DB5CBDDA33173D126BF9BC63A2BE3DD5BBA0BCA079E73C9596D2BD831F3D3D319408BD50FD2E3CFCE6033D398FA7BC95BAABBCFC0CA2BD04304CBD','01966fefbb00cdc1ec3c7c7bab0f28a8dd962bebd97d6c871f4ce94b3078a894','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
CREATE TABLE entities (
    -- A row per name (person, service, identifier, path ...) that memories of a tenant mention.
    id     INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL CHECK (name <> ''),
    run_id TEXT,
    UNIQUE (tenant, name)
) STRICT;
INSERT INTO "entities" VALUES(1,'on call','Billing','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
INSERT INTO "entities" VALUES(2,'on call','Oksana','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
CREATE TABLE entity_scans (
    -- A row per memory whose text a run searched for entities, whether it found any or none.
    memory_id    TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    content_hash TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "entity_scans" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','01966fefbb00cdc1ec3c7c7bab0f28a8dd962bebd97d6c871f4ce94b3078a894','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
INSERT INTO "entity_scans" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
CREATE TABLE images (
    -- A row per memory that left the other file: how it stood there, so that it can come back.
    memory_id TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    image     TEXT NOT NULL CHECK (json_valid(image))
) STRICT, WITHOUT ROWID;
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
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',1,'acb4eef0cb3c9c01fc323f4a2fd39d7b','memories','{"id":"32ded619-b121-533a-98de-d8c2ae46457e"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"294d0e56-6931-53bc-af87-ec6f38761f58","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',2,'acb4eef0cb3c9c01fc323f4a2fd39d7b','synthesized_from','{"derived_id":"294d0e56-6931-53bc-af87-ec6f38761f58","source_id":"32ded619-b121-533a-98de-d8c2ae46457e"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"294d0e56-6931-53bc-af87-ec6f38761f58","operation":"merge","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67","source_id":"32ded619-b121-533a-98de-d8c2ae46457e"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',3,'acb4eef0cb3c9c01fc323f4a2fd39d7b','derivations','{"memory_id":"294d0e56-6931-53bc-af87-ec6f38761f58","proposal":"acb4eef0cb3c9c01fc323f4a2fd39d7b","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd"}',NULL,'{"claims":"[{\"checked_by\":null,\"sources\":[\"294d0e56-6931-53bc-af87-ec6f38761f58\",\"32ded619-b121-533a-98de-d8c2ae46457e\"],\"text\":\"Billing listens on port 8080.\",\"written_by\":null}]","completion_tokens":0,"cost_usd":0.0,"inputs_hash":"da4f0892fa98a60dad974542a527c8a38bbd35c654806d9f314a74890c4f896b","memory_id":"294d0e56-6931-53bc-af87-ec6f38761f58","model":null,"operation":"merge","prompt_hash":"c7f1433a9fba6701792c8bc0753ad871fc9e0ea576abcc12f119995fd7bfe300","prompt_tokens":0,"proposal":"acb4eef0cb3c9c01fc323f4a2fd39d7b","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","writer":"extractive"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',4,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}',NULL,'{"access_count":0,"accessed_at":null,"content":"At weekends Oksana carries the database pager until 22:00 and is paid extra for it. Oksana answers the database pager at weekends until 22:00, on her second phone.","content_hash":"01966fefbb00cdc1ec3c7c7bab0f28a8dd962bebd97d6c871f4ce94b3078a894","created_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"generation":1,"id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","importance":3,"kind":"fact","layer":"stable","metadata":"{\"sessions\":[]}","observed_at":"1970-01-01T00:00:00+00:00","origin":"consolidation","pinned":0,"session":null,"source":null,"status":"active","superseded_at":null,"superseded_by":null,"tags":"[]","tenant":"on call","trust":0.45,"updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',5,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"23bcb7cd-f99f-51d3-b956-fcb06bcf03f1"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"d72301066f6f020d5b9dc59f207d1743909b9f983351fefd21fb637e01509e96","source_id":"23bcb7cd-f99f-51d3-b956-fcb06bcf03f1"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',6,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"3b8a94b4-c404-5039-897b-f4c590497d01"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"08f0adccac825f2049275b2f0009f7a3c25037b97d47e97ef525a75cb014ff68","source_id":"3b8a94b4-c404-5039-897b-f4c590497d01"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',7,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"551b85f1-61d7-5fd2-9d53-23eefdf042c6"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"9cc91905a9548e85286609dfe0beadbbd54c01a8646ff8117afd38eb90a8d79f","source_id":"551b85f1-61d7-5fd2-9d53-23eefdf042c6"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',8,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"7a92445d-1916-5d5b-8aa5-20f52e6e0a38"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"3c14d7205cb5f1fbdedbb51144568bcc2434a01a4e6256724a75d0ca6882dbec","source_id":"7a92445d-1916-5d5b-8aa5-20f52e6e0a38"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',9,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"a69b07fc-e3d2-547e-956a-2b9002614a53"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"d8642545aeb0779047335b3bc3f6ad2255d7d7e2ca262ca1ec8344199903e7b9","source_id":"a69b07fc-e3d2-547e-956a-2b9002614a53"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',10,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"c824c37b-2465-5869-bcb1-46f767067bd8"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"b0dfddbfeb58a50c1975d68887679f973b4fdb153d119949b864e1c1ef623ea6","source_id":"c824c37b-2465-5869-bcb1-46f767067bd8"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',11,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"e8b5c38e-f2ae-54ad-be86-b0e88b339e10"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"18c1b93f860176eff19419f77e1039b04f6b10d1d1bc76d361ad3cf50668e68e","source_id":"e8b5c38e-f2ae-54ad-be86-b0e88b339e10"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',12,'1458ca0444a0e5c22d7c2689d84c8e8f','synthesized_from','{"derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","source_id":"fee28b49-20b7-5afa-815b-c05d214f6655"}',NULL,'{"created_at":"2026-11-24T03:35:42.975103+00:00","derived_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","operation":"synthesize","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","source_content":null,"source_hash":"8ca9df7941c26eda15de8e61826682d834407694885432abfd4b45dc87ef3929","source_id":"fee28b49-20b7-5afa-815b-c05d214f6655"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',13,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"23bcb7cd-f99f-51d3-b956-fcb06bcf03f1"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',14,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"3b8a94b4-c404-5039-897b-f4c590497d01"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',15,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"551b85f1-61d7-5fd2-9d53-23eefdf042c6"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',16,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"7a92445d-1916-5d5b-8aa5-20f52e6e0a38"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',17,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"a69b07fc-e3d2-547e-956a-2b9002614a53"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',18,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"c824c37b-2465-5869-bcb1-46f767067bd8"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',19,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"e8b5c38e-f2ae-54ad-be86-b0e88b339e10"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',20,'1458ca0444a0e5c22d7c2689d84c8e8f','memories','{"id":"fee28b49-20b7-5afa-815b-c05d214f6655"}','{"status":"active","superseded_at":null,"superseded_by":null,"updated_at":"2026-11-24T03:35:42.939294+00:00"}','{"status":"superseded","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","updated_at":"2026-11-24T03:35:42.975103+00:00"}');
INSERT INTO "journal" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd',21,'1458ca0444a0e5c22d7c2689d84c8e8f','derivations','{"memory_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","proposal":"1458ca0444a0e5c22d7c2689d84c8e8f","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd"}',NULL,'{"claims":"[{\"checked_by\":null,\"sources\":[\"7a92445d-1916-5d5b-8aa5-20f52e6e0a38\",\"a69b07fc-e3d2-547e-956a-2b9002614a53\"],\"text\":\"At weekends Oksana carries the database pager until 22:00 and is paid extra for it.\",\"written_by\":null},{\"checked_by\":null,\"sources\":[\"23bcb7cd-f99f-51d3-b956-fcb06bcf03f1\",\"3b8a94b4-c404-5039-897b-f4c590497d01\",\"551b85f1-61d7-5fd2-9d53-23eefdf042c6\",\"c824c37b-2465-5869-bcb1-46f767067bd8\",\"e8b5c38e-f2ae-54ad-be86-b0e88b339e10\",\"fee28b49-20b7-5afa-815b-c05d214f6655\"],\"text\":\"Oksana answers the database pager at weekends until 22:00, on her second phone.\",\"written_by\":null}]","completion_tokens":0,"cost_usd":0.0,"inputs_hash":"c04de861638b32999129751c612c1537c96f06bc1809cfac6f91142bf30d1873","memory_id":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","model":null,"operation":"synthesize","prompt_hash":"f74a5cab2996d57921dfcb0e7ab5a2448ef97a472b1f47f964e9c9545ce9d508","prompt_tokens":0,"proposal":"1458ca0444a0e5c22d7c2689d84c8e8f","run_id":"01a20b9f-aa92-7584-b3b4-7f9b4b3090fd","writer":"extractive"}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',1,'purge','memories','{"id":"23bcb7cd-f99f-51d3-b956-fcb06bcf03f1"}','{"content_hash":"d72301066f6f020d5b9dc59f207d1743909b9f983351fefd21fb637e01509e96","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',2,'purge','memories','{"id":"32ded619-b121-533a-98de-d8c2ae46457e"}','{"content_hash":"52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"294d0e56-6931-53bc-af87-ec6f38761f58"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',3,'purge','memories','{"id":"3b8a94b4-c404-5039-897b-f4c590497d01"}','{"content_hash":"08f0adccac825f2049275b2f0009f7a3c25037b97d47e97ef525a75cb014ff68","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',4,'purge','memories','{"id":"551b85f1-61d7-5fd2-9d53-23eefdf042c6"}','{"content_hash":"9cc91905a9548e85286609dfe0beadbbd54c01a8646ff8117afd38eb90a8d79f","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',5,'purge','memories','{"id":"7a92445d-1916-5d5b-8aa5-20f52e6e0a38"}','{"content_hash":"3c14d7205cb5f1fbdedbb51144568bcc2434a01a4e6256724a75d0ca6882dbec","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',6,'purge','memories','{"id":"a69b07fc-e3d2-547e-956a-2b9002614a53"}','{"content_hash":"d8642545aeb0779047335b3bc3f6ad2255d7d7e2ca262ca1ec8344199903e7b9","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',7,'purge','memories','{"id":"c824c37b-2465-5869-bcb1-46f767067bd8"}','{"content_hash":"b0dfddbfeb58a50c1975d68887679f973b4fdb153d119949b864e1c1ef623ea6","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',8,'purge','memories','{"id":"e8b5c38e-f2ae-54ad-be86-b0e88b339e10"}','{"content_hash":"18c1b93f860176eff19419f77e1039b04f6b10d1d1bc76d361ad3cf50668e68e","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
INSERT INTO "journal" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04',9,'purge','memories','{"id":"fee28b49-20b7-5afa-815b-c05d214f6655"}','{"content_hash":"8ca9df7941c26eda15de8e61826682d834407694885432abfd4b45dc87ef3929","superseded_at":"2026-11-24T03:35:42.975103+00:00","superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283"}','{}');
CREATE TABLE links (
    -- A row per memory that stands in the other file, and what names it there. It outlives the
    -- memory, which an undo may delete, until the entry has left the other file.
    memory_id TEXT PRIMARY KEY NOT NULL,
    key       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "links" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','9e5aef794a7acf1db0edf908f432cfd7');
INSERT INTO "links" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58','d3674a274ec88116895a164c19e08e79');
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
INSERT INTO "memories" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58','on call','Billing listens on port 8080.','fact','working','active','agent',0.5,3,0,0,NULL,NULL,'[]','{}','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d',0,'1970-01-01T00:00:00+00:00','2026-11-24T03:35:42.939294+00:00','2026-11-24T03:35:42.939294+00:00',NULL,NULL,NULL,NULL);
INSERT INTO "memories" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','on call','At weekends Oksana carries the database pager until 22:00 and is paid extra for it. Oksana answers the database pager at weekends until 22:00, on her second phone.','fact','stable','active','consolidation',0.45,3,0,1,NULL,NULL,'[]','{"sessions":[]}','01966fefbb00cdc1ec3c7c7bab0f28a8dd962bebd97d6c871f4ce94b3078a894',0,'1970-01-01T00:00:00+00:00','2026-11-24T03:35:42.975103+00:00','2026-11-24T03:35:42.975103+00:00',NULL,NULL,NULL,NULL);
INSERT INTO "memories" VALUES('01a21097-2717-7b72-8d2c-44deae5da716','shared','Billing listens on port 8080.','fact','stable','superseded','agent',0.5,3,1,0,'shared by coder',NULL,'[]','{"author":"coder","fact":"billing/port","version":1}','9361813e9a6cdcd1c50b613e23bc9449b7f65e239be7b639b6a2c84785aa3d6d',0,'2026-01-06T09:00:00+00:00','2026-01-06T09:00:00+00:00','2026-01-07T09:00:00+00:00',NULL,NULL,'01a21097-2737-7253-9d65-7bb2ad75323d','2026-01-07T09:00:00+00:00');
INSERT INTO "memories" VALUES('01a21097-2737-7253-9d65-7bb2ad75323d','shared','Billing listens on port 9090.','fact','stable','archived','human',0.5,3,1,0,'shared by aino',NULL,'[]','{"author":"aino","fact":"billing/port","version":2}','589bc7c066c3434dfcc597e3d5c7ffb6c2fabe0d1dffe4711454a39d21797c85',0,'2026-01-07T09:00:00+00:00','2026-01-07T09:00:00+00:00','2026-01-08T09:00:00+00:00',NULL,NULL,NULL,NULL);
CREATE TABLE memory_entities (
    -- A row per mention of an entity in a memory.
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    -- The run that found it; NULL: whoever stored the memory named it.
    run_id    TEXT,
    PRIMARY KEY (memory_id, entity_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "memory_entities" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283',2,'01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
INSERT INTO "memory_entities" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58',1,'01a20b9f-aa92-7584-b3b4-7f9b4b3090fd');
CREATE TABLE memos (
    -- A row per thing that a run found out from texts alone, so that no later one need do so again.
    -- May be emptied at any time: it is worked out anew.
    kind  TEXT NOT NULL,
    -- A hash of the texts, and of the rules that they were read by.
    key   BLOB NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "memos" VALUES('gist',X'1321AE0AA7F065576CDFBF6783F19E42','e1b01d15[["Oksana"],false,[],[[["=call","databas","oksana","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'1D8974BB8C582581993D6AFEE0E70996','f702a46c[["Oksana"],false,[],[[["databas","oksana","pager","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'3A9A0A440D022C4BE9FB5FDD1A91A67E','2b55f8b8[["Oksana"],false,[],[[["databas","oksana","page","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"on"]]]');
INSERT INTO "memos" VALUES('gist',X'71B0E695C5BAE89557F3D1A5A1CFDA39','77ee61d0[["Oksana"],false,[],[[["=phone","=price","answer","carri","databas","extra","oksana","pager","second","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'94A8EF90C6F8579F3230C85A26BD939F','2b28a5a1[["Oksana"],false,[],[[["=phone","answer","databas","oksana","pager","second","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'9A13738D904D4CBBDFE1CE2F60C8B8DA','7a0d8020[["Billing"],false,[],[[["=reach","bill","port"],["billing"],["bill"],[["number","8080"]],[],"on"]]]');
INSERT INTO "memos" VALUES('gist',X'A4DE3F4C2F2DA6930EACBEA1F9C711E8','7a0d8020[["Billing"],false,[],[[["=reach","bill","port"],["billing"],["bill"],[["number","8080"]],[],"on"]]]');
INSERT INTO "memos" VALUES('gist',X'A51107078E7C80465970D0CAD17B7AA7','b115e667[["Oksana"],false,[],[[["=price","carri","databas","extra","oksana","pager","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'E5A59AB334937BFC6919BAC55042CB09','c7198be0[["Oksana"],false,[],[[["answer","databas","oksana","pager","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'F0A6A44F9AD98D7311B195D2F82FA2D7','2bf2b854[["Oksana"],false,[],[[["check","databas","oksana","pager","rota","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('gist',X'FBF2B1B89799E6767502F4024E19FD07','214f6bc9[["Oksana"],false,[],[[["carri","databas","oksana","pager","weekend"],["oksana"],["oksana"],[["number","22:00"]],[],"oa"]]]');
INSERT INTO "memos" VALUES('look-alikes',X'39F04F59F35A6D92B0D727FA7AE59448','0d4cbb29[]');
INSERT INTO "memos" VALUES('look-alikes',X'B5ED344682D797A31D28ADC14E109DEC','0d4cbb29[]');
INSERT INTO "memos" VALUES('pair',X'125CC904D1BBBE49715D79D378D4BA5F','0fcdc734{"guard":"wording","left":"call, for, on","right":"carries, pager","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'30928265C9C4ADE2CFC127FF567BFEEB','3870f042{"guard":"wording","left":"with","right":"answers, second, telephone, her, on","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'346BAE64316BEDF441D94FCB55CE736A','3cce0202{"guard":"wording","left":"carries, paid, extra, and, for","right":"answers, second, telephone, her, on","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'3591EEED333E2C32E14D70FF2405E91C','dff8a3c5{"guard":"wording","left":"call, for","right":"answers, pager, second, telephone, her","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'3C5458ABD4AE099EE718B8C114112547','056a084e{"guard":"wording","left":"checked, rota, have","right":"with","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'4B3F297CA3D1D3C777D3126F6D7BDB61','4d4c91fe{"guard":"wording","left":"checked, rota, have","right":"carries","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'53593333EB97C551617A5453DDAB53A3','19c50c36{"guard":"wording","left":"answers, one","right":"with","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'5415817D0CD29A701500C7D5B85DA83F','32e2a1e8{"guard":"wording","left":"carries","right":"answers, second, telephone, her, on","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'5F6B81DFFE0415B3DDE92B8FCCC779F1','324132d2{"guard":"wording","left":"call, for, on","right":"answers, pager, one","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'61703346FEDCC98C8D6EA8DE66D27C12','aaeb3a14{"guard":"wording","left":"carries","right":"with","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'63D2F7B0DC596E50B49489FD841D0BC9','c10a008f{"guard":"wording","left":"call, for, on","right":"pager, with","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'6F89A67174FB418E414AFFBB8C09993F','d45d2661{"guard":"wording","left":"carries, paid, extra, and, for","right":"with","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'78F71912C2C9ED3FEAE0FF0B59105725','69344feb{"guard":"wording","left":"pages, go, of, to","right":"checked, rota, pager, at, have","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'86D4AEFF874536FA751A631E61843A56','27c51bdf{"guard":"wording","left":"pages, go, of, to","right":"answers, pager, at, one","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'8E04B26BC209E077516F6478A38E5258','57f7fda0{"guard":"wording","left":"pages, go, of, to","right":"call, at, for, on","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'9406A508B0D0357064013F4A3F177763','166f9f08{"guard":"wording","left":"carries","right":"answers, one","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'968BDD8AACEF3AB6A4205DE7AB7663CD','3b039317{"guard":"wording","left":"checked, rota, have","right":"answers, second, telephone, her, on","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'9EC2EA44BA389A5855FD3C62FD7359D2','437bf8f5{"guard":"wording","left":"checked, rota, have","right":"carries, paid, extra, and, for","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'AD94F01501DA0294E6825B2C3D60DC85','d477fe44{"guard":"wording","left":"","right":"paid, extra, and, for","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'B5ED344682D797A31D28ADC14E109DEC','25cbfc4fnull');
INSERT INTO "memos" VALUES('pair',X'B633C1FA27B98B6BA5FAF188285D8161','caee0b47{"guard":"wording","left":"checked, rota, have","right":"answers, one","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'BFE9B12F0EA3156D1BC5463351045A6E','17c0d4b6{"guard":"wording","left":"pages, go, of, to","right":"carries, pager, paid, extra, and, at, for","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'C035CCA08DCAB85059CF5784FEE5101D','b01ef4f9{"guard":"wording","left":"one","right":"second, telephone, her, on","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'C5592F6590E4328B3310FD5F76AE9883','d8d05880{"guard":"wording","left":"carries, paid, extra, and, for","right":"answers, one","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'C73FCF1B39EFD10219546B9390473CBB','0b3e1752{"guard":"wording","left":"call, for, on","right":"checked, rota, pager, have","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'CDE3FD38DFB66F45B98F48215321EE6E','f39d5563{"guard":"wording","left":"pages, go, of, to","right":"carries, pager, at","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'D492D45A83E3CFC13801B4068C6A8592','cae85b37{"guard":"wording","left":"call, on","right":"carries, pager, paid, extra, and","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('pair',X'EFCF8950F9DC194CBAFA60755BF661F5','a5a947b9{"guard":"wording","left":"pages, go, of, to","right":"pager, at, with","conflict":false,"doubtful":true}');
INSERT INTO "memos" VALUES('search',X'42820C95476F711F8C8FFF07BD2A4F30','7da8912c[["G8zh7OcrnbM=","YyC/yhvqrIY=","Y6AgzMM4bxo=","jSl1Qosy3r8=","jyfobnZB4o4=","lVlV21UJV8E=","vEFTP0P01ZM=","3eld9ZsNX8I=","4SXGHMC0REI=","5SNyi8R3W3M=","5werVcLicc8="],[],[]]');
INSERT INTO "memos" VALUES('split first_stand 0.6',X'5C4222FE0DB4EE44D925E4968A8A12E6','ae54b3f0[[0,1]]');
INSERT INTO "memos" VALUES('split first_stand 0.6',X'601D8FC5612C6C9ADA3788A2AC679D7C','6ac6434d[[0,1,2,3,4,5,6,7]]');
INSERT INTO "memos" VALUES('teller',X'1B3342C5F42A49611C39B981A38BB828','4c2f32b8[1]');
INSERT INTO "memos" VALUES('teller',X'346BAE64316BEDF441D94FCB55CE736A','0d4cbb29[]');
INSERT INTO "memos" VALUES('teller',X'411115E08B2F0D65F7B4E7DF0237E193','553403f9[0]');
INSERT INTO "memos" VALUES('teller',X'4F3561043A844959977E125B0BFE576C','553403f9[0]');
INSERT INTO "memos" VALUES('teller',X'9DEB32D4868FBEC6779FDE6C8B9C9587','553403f9[0]');
INSERT INTO "memos" VALUES('teller',X'F778A7F68B4F942E12002084B91E9155','553403f9[0]');
INSERT INTO "memos" VALUES('teller',X'F7D53F4256374098FCE06BC74605D288','553403f9[0]');
CREATE TABLE mirrored (
    -- A row per mirror, only in one of another agent's file: of which format that is.
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    format TEXT NOT NULL
) STRICT;
INSERT INTO "mirrored" VALUES(1,'mcp-server-memory');
CREATE TABLE neighbours (
    -- A row per part of the pairs of texts that lie near each other; each run adds what is new.
    -- May be emptied at any time, too.
    tenant  TEXT NOT NULL,
    part    INTEGER NOT NULL,
    -- What the vectors were made with, and from which similarity on pairs are kept.
    basis   TEXT NOT NULL,
    -- Packed: the texts that were new, by hash, and the pairs that those are in.
    content BLOB NOT NULL,
    PRIMARY KEY (tenant, part)
) STRICT;
INSERT INTO "neighbours" VALUES('on call',0,'0.1.0/ed13821b79c329c01c75f4fcef3fbec1 all-MiniLM-L6-v2 0.55 0.6 0.0001',X'7801E362606038E01F7FE8EABC8893DA12B95C67FFC7ECBFBE246AF69A158FE4B31276A94DBF72C53C59D93FF3C96789ABE599BE129F566E607F72BA392D88EBC80529FE79E7B77D099C58D0FACFF0BEC2EA72DE05E27ECFBA96AB6D1766705EF3FAD9A3CCAC234C37CE1F79B868C2D2DBBEC2658B370A596707DD720AF77A75AEB6FE6C6D89EF13C93FE5B5B7381FBD31D9661B314547212AB1F2C43E45BD0FF23982E23BEECD77DF7480ADE5C3A172A013418091094281D9203E0801099A0066165636760E4E2608056683F840C4C1C949131B1918FE0A275BBEDDE963F3317B5ECEBD92A008A11562512F92B62D10EEDF6CFB564141414E5E415A55565E565E5E4E454951494E5549555E51454E59511E0078FC6526');
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
INSERT INTO "proposals" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','1458ca0444a0e5c22d7c2689d84c8e8f','synthesize','on call','["23bcb7cd-f99f-51d3-b956-fcb06bcf03f1","3b8a94b4-c404-5039-897b-f4c590497d01","551b85f1-61d7-5fd2-9d53-23eefdf042c6","7a92445d-1916-5d5b-8aa5-20f52e6e0a38","a69b07fc-e3d2-547e-956a-2b9002614a53","c824c37b-2465-5869-bcb1-46f767067bd8","e8b5c38e-f2ae-54ad-be86-b0e88b339e10","fee28b49-20b7-5afa-815b-c05d214f6655"]',NULL,'01a20b9f-aa7f-797b-8a76-dc0f278e3283','applied','At weekends Oksana carries the database pager until 22:00 and is paid extra for it. Oksana answers the database pager at weekends until 22:00, on her second phone.','8 memories share Oksana, mean similarity 0.84',NULL,'{"mean_similarity":0.8368,"min_similarity":0.6988}','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "proposals" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','acb4eef0cb3c9c01fc323f4a2fd39d7b','merge','on call','["294d0e56-6931-53bc-af87-ec6f38761f58","32ded619-b121-533a-98de-d8c2ae46457e"]','294d0e56-6931-53bc-af87-ec6f38761f58',NULL,'applied','Billing listens on port 8080.','2 memories say the same, mean similarity 0.95',NULL,'{"mean_similarity":0.9532,"min_similarity":0.9532}','2026-11-24T03:35:42.975103+00:00');
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
INSERT INTO "runs" VALUES('01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','2026-11-24T03:35:42.975103+00:00','2026-11-24T03:35:42.975103+00:00','0.1.0','{"embedder":"all-MiniLM-L6-v2","model":null,"only":"merge,synthesize,extract,update","tenant":[]}','037db252770fe88753a08181fef22c3161d94a6bb4bafa42aacd4754fd4547be','done','{"after":{"active":2,"characters":192,"layers":{"core":0,"ephemeral":0,"stable":1,"working":1},"superseded":9,"tokens":46},"before":{"active":10,"characters":598,"layers":{"core":0,"ephemeral":0,"stable":0,"working":10},"superseded":0,"tokens":149},"model":{"cached":0,"calls":0,"completion_tokens":0,"cost_usd":0.0,"prompt_tokens":0},"states":{"applied":2}}');
INSERT INTO "runs" VALUES('01a2106f-7844-7fc1-a113-f72f82944e04','2027-01-03T03:35:42.975103+00:00','2027-01-03T03:35:42.975103+00:00','0.1.0','{"purge":true,"tenant":["on call"]}',NULL,'done','{"after":{"active":2,"characters":192,"layers":{"core":0,"ephemeral":0,"stable":1,"working":1},"superseded":0,"tokens":46},"before":{"active":2,"characters":192,"layers":{"core":0,"ephemeral":0,"stable":1,"working":1},"superseded":9,"tokens":46},"kept":{"lineage":0,"pinned":0,"review":0,"undo":0},"purged":9}');
CREATE TABLE shared_log (
    -- A row per thing that was done to the facts that a whole organisation shares: rows are added,
    -- never changed and never deleted. What holds at a moment is what the rows up to it say.
    sequence  INTEGER PRIMARY KEY,
    -- Not before that of the row in front of it.
    at        TEXT NOT NULL,
    operation TEXT NOT NULL CHECK (operation IN ('publish', 'retract', 'admit', 'dismiss')),
    -- The name of a fact, or of an author who is admitted or dismissed.
    subject   TEXT NOT NULL CHECK (subject <> ''),
    -- Of the fact, or of what the author may do: 1, 2, 3 ...
    version   INTEGER NOT NULL CHECK (version > 0),
    -- What a fact says, or as JSON what an author is; NULL where it ends.
    content   TEXT CHECK ((content IS NULL) = (operation IN ('retract', 'dismiss'))),
    author    TEXT NOT NULL CHECK (author <> ''),
    -- What the author was then.
    kind      TEXT NOT NULL CHECK (kind IN ('human', 'agent')),
    seniority INTEGER CHECK ((seniority IS NULL) = (kind = 'human')),
    reason    TEXT,
    -- The memory that says it.
    memory_id TEXT CHECK ((memory_id IS NULL) = (operation <> 'publish')),
    -- sha256 of this row and of the digest in front of it.
    digest    TEXT NOT NULL
) STRICT;
INSERT INTO "shared_log" VALUES(1,'2026-01-05T09:00:00+00:00','admit','aino',1,'{"kind":"human"}','aino','human',NULL,NULL,NULL,'5f4538b4465bd6c58ccc0a6ddd4531e988edb53a2238cf174f057ce656aa2a90');
INSERT INTO "shared_log" VALUES(2,'2026-01-05T09:00:00+00:00','admit','coder',1,'{"kind":"agent","seniority":2}','aino','human',NULL,NULL,NULL,'c6a57c49d3d67fc11c4154f9d9dcee488c6a8b0a8458a812129d7f2022659ea7');
INSERT INTO "shared_log" VALUES(3,'2026-01-06T09:00:00+00:00','publish','billing/port',1,'Billing listens on port 8080.','coder','agent',2,NULL,'01a21097-2717-7b72-8d2c-44deae5da716','0a4824f6d5084551af86c5c327755da2cad42e7063af64e804a905757ada2ac5');
INSERT INTO "shared_log" VALUES(4,'2026-01-07T09:00:00+00:00','publish','billing/port',2,'Billing listens on port 9090.','aino','human',NULL,'new proxy','01a21097-2737-7253-9d65-7bb2ad75323d','f5111f7daea1b883185619855ccc7df568c34d73797e2e70d606bc0beb294d0b');
INSERT INTO "shared_log" VALUES(5,'2026-01-08T09:00:00+00:00','retract','billing/port',3,NULL,'aino','human',NULL,NULL,NULL,'1c7e6d52d24803027b06692a7c1c59ae5a2649fafbe4a0aea88d611baaec59b6');
CREATE TABLE standing (
    -- A row per tenant, and per set of options, with which a run found nothing more to do: what it
    -- would say again as long as nothing has changed. May be emptied at any time.
    tenant  TEXT NOT NULL,
    -- A hash of the options.
    key     TEXT NOT NULL,
    -- The count in `changes` at which it was found.
    changes INTEGER NOT NULL,
    -- Up to this moment: then something expires.
    until   TEXT,
    -- Packed JSON.
    report  BLOB NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "standing" VALUES('on call','48670cbb312e2241baf458161b0779965bdb59e387b2cd2ab97753945a23f6d9',73,NULL,X'78018B8E8ED54145B1003AE305E5');
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
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','23bcb7cd-f99f-51d3-b956-fcb06bcf03f1','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','d72301066f6f020d5b9dc59f207d1743909b9f983351fefd21fb637e01509e96','The database pages of a weekend go to Oksana until 22:00.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','3b8a94b4-c404-5039-897b-f4c590497d01','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','08f0adccac825f2049275b2f0009f7a3c25037b97d47e97ef525a75cb014ff68','Oksana is on call for the databases at weekends, until 22:00.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','551b85f1-61d7-5fd2-9d53-23eefdf042c6','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','9cc91905a9548e85286609dfe0beadbbd54c01a8646ff8117afd38eb90a8d79f','Checked the rota: until 22:00 Oksana has the database pager at weekends.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','7a92445d-1916-5d5b-8aa5-20f52e6e0a38','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','3c14d7205cb5f1fbdedbb51144568bcc2434a01a4e6256724a75d0ca6882dbec','Oksana carries the database pager at weekends until 22:00.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','a69b07fc-e3d2-547e-956a-2b9002614a53','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','d8642545aeb0779047335b3bc3f6ad2255d7d7e2ca262ca1ec8344199903e7b9','At weekends Oksana carries the database pager until 22:00 and is paid extra for it.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','c824c37b-2465-5869-bcb1-46f767067bd8','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','b0dfddbfeb58a50c1975d68887679f973b4fdb153d119949b864e1c1ef623ea6','Until 22:00 the one who answers the database pager at weekends is Oksana.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','e8b5c38e-f2ae-54ad-be86-b0e88b339e10','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','18c1b93f860176eff19419f77e1039b04f6b10d1d1bc76d361ad3cf50668e68e','Until 22:00 the database pager is with Oksana at weekends.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('01a20b9f-aa7f-797b-8a76-dc0f278e3283','fee28b49-20b7-5afa-815b-c05d214f6655','synthesize','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','8ca9df7941c26eda15de8e61826682d834407694885432abfd4b45dc87ef3929','Oksana answers the database pager at weekends until 22:00, on her second phone.','2026-11-24T03:35:42.975103+00:00');
INSERT INTO "synthesized_from" VALUES('294d0e56-6931-53bc-af87-ec6f38761f58','32ded619-b121-533a-98de-d8c2ae46457e','merge','01a20b9f-aa92-7584-b3b4-7f9b4b3090fd','52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67','Billing listens on port 8080','2026-11-24T03:35:42.975103+00:00');
CREATE TABLE witness_vectors (
    -- A row per purged memory and embedding model: its vector, as in `embeddings`.
    id           TEXT NOT NULL REFERENCES witnesses (id) ON DELETE CASCADE,
    model        TEXT NOT NULL,
    dimensions   INTEGER NOT NULL CHECK (dimensions > 0),
    vector       BLOB NOT NULL CHECK (length(vector) = 4 * dimensions),
    content_hash TEXT NOT NULL,
    PRIMARY KEY (id, model)
) STRICT;
INSERT INTO "witness_vectors" VALUES('23bcb7cd-f99f-51d3-b956-fcb06bcf03f1','all-MiniLM-L6-v2',384,X'C170AA3C5803F53BCEF3E7384604853C8C7544BD9C00433C20CBF3BD436884BDF5AC16BD7D375B3D73A9333DDA833C3D233139BD273BF6BC9330643CB2ABBCBCC174FB3CF8BB22BCA3952CBD6D3587BDCA9105BAE9650DBD3561903D333889BB868BF1BCE852B93C93EFBF3B9FEC263D616A6E3C2D0E53BD75602BBD8B0D1B3DE681AABCE9EFC13CE67EEC3C7868923CDF6B5A3CC6E3063AF2896F3D8D9B613DBF79173D9B042DBC016DBBBC7D74453D21BBCD3B898237BD043AA0BDFE3E3FBD0C7DAC3D3A4EA73D677B29BCA6F980BCAB01C0BBB96C97BC9A5B813D3D04643DD9C447BDFF30E9BCED91F7BBDB18293D4458033DE054073D7FF993BD4757923CD11B8CBD6FE61C3DE8F3EEBCC625173D09604F3DD5D1C2BDFC4DC1BD2126363C4D62393BC7D4BE3C0F32CEBBB0E7033C75B2D93CBEBC9BBC45CD9C3B1CD873BDB36E43BDCED932375A8F2F3DC58249BBA11D3DBD209FF0BB003AE5BC60B0723D7541D53DBE682C3D2FF2BF3C0E2C93BCE829F5BC074B83BD677971BDA91BD3BC2F8C98BDB0189ABCE0B3B03DCE68A43DD367973CC935813DD301BA3C3ADC02BDEEC482BD8475D3BCB9A5A63C3B2DEF3C318BAEBD881A9A3B0433A7BCCABF9ABB6F35473D4321A1BDF7D0C0B9D6742F3DA1C20FBCF082CE3BFC86CD3CFE938F3C6C6F98BB770D8C3C99EE89BCD6B7BC3B546C8DBD847A813D602111BD73250E885D4AE33D80654ABD2F3A013DBE3477BDD8610B3DEC83A6BC19A877BCA0B7B4BCD7B361BDBDA6013D8CAF7DBD475A40BDA5D364BDEA8EDDBDCC0204BC5284843CF13F893C7E5F633D590850BB05289ABCAEAA633D7C51F4BD837F0FBD6565D0BC91ECA13D7FBF3F3C4936143C5BE106BD537D7D3D2E28023D10761DBDB40887BD82048DBD3D7870BCA1991F3D83FB8B3C0E082EBD09E4C93CCED0D7BC3E81A5BD469D35BC6585F4BCCDBA87BD8FB51B3D68CDB53C5F5B773D58650F3D85DD67BC8558E03D39F6113C087433BDB42EC73B76971BBC509A083D4BF450BDE97A243D3CFA0C3D6D9593BDEBAABC3C18ADA83CD38F503D6DCB913C36F552BC79D119BE89FD7FBD6910133B689112BD98C2D7BCE8D6453D187140BD9365C83D2BE18B3C99CA9D3DF4074CBBC53E22BD2C5B193D1CFFA5BCD842AEBCBA13983A78C1B43D102FE33D15CB6ABDBEBF36BD8F3FED3A112E523D1C8FB1BCBBDD573DEC7F64BBDADD9ABCDFE991BCC8CEE8BC9F93963D63BDC53C07B4E4BCC7E0EF3CD3E3D188FB8AB23DEFFED9BD76BE86BDCBABE03C472FC03D3F2387BD9B4537BD41050C3E9F8D073D97593E3D32FA1EBC8F0AF8BCA91A123DD3C997BD5C0C5F3D40ADE3BC6C83703DBA1E3E3D4A69A43C68A5593D571871BD9BF2BD39C3BB35BC80D94ABDA957DB3DBA05393D4D86813DFB7A453D4003E2BD8A6AA13D545FF8BC2B7C18BEB1C8E3BD8D84133D3DC4ACBD6F6461BCDDB7A1BC4EACBFBC7C8799BC10D4F83CF324AF3C16AD573D4F41693CE86C143DE06EB5BD92C7EA3D05FB2DBD62646C3DFEC7533C051CDEBD422C7E3CCFA2DB3CED96E8BBE1B67FBC77D5A83D928BB03D28DD473D3F5C3A3CDC8951BD02156D3D63C28CBA08DC92BD8DD753BD4BD59C3DB2C3F93CD11185BDB988C93D0BB39F3C52D7ACBC1A51683C545252BD7051F9BC79C83CBD102B00BB2D72493B5485853DBED1B33C0CE6D23DA7D65FBB475BDD3AD6983FBCF75B2DBC98EAACBD3EC7153C63DA0D3D37684EBB2A727F3DCA49B23A12540BBDE05E583DF130B3BC87BD183CD8D88FBD3C3D233E314499BC3F319EB29CD2353D3C3780BDB0670F3C0B53C7BCDF00933DF4097FBDCEEEBD3D1E431E3D1639E5BCEAD8853D98D0083E8A005C3CBF56573D66960A3DAF37443C71E26BBDD095AA3C4C56FCBC70117ABA22DB99BDF1D301BDB3B680BD950FAC3C752129BD7374043D74C7C33D6B023ABD36D1743DE5BF443D1855803CB87652BB4E38573D7BD2823CBB89C8BDECA0A03CDBA02FBD566D8EBD53CDE0BC2330B9BD2A44213C73AEADBBDE1186BD6163A23C72E04C3C20E4273D6FB8A23DAB12D73D63B0E53C9098D0BC53D67CBDD8AAAFBC30C15CBD1A3E2F3DB736133C64F3393CF96449BD3F711C3D404EB0BD39D53D3D8812A4BC3911013C76996CBCD5D5F6BD95703AB9','d72301066f6f020d5b9dc59f207d1743909b9f983351fefd21fb637e01509e96');
INSERT INTO "witness_vectors" VALUES('32ded619-b121-533a-98de-d8c2ae46457e','all-MiniLM-L6-v2',384,X'EA4D75BD4192523DEDC632BD45E0E9BDC35F93BD077C6BBD28AF98BB2C6A8EBDC1E3113D743A24BDC718FFBCFA1B8C3DA5A002BC97BA343D3F45C93C63134CBDFBE93ABD07ED0FBC39423F3C7964D53C097589BC7BBAB63DC73A8BBD874014BDED6301BD62BEDB3CF868CF3B23CEF73C2DAB763CD1534CBD4BD5EA3C14CC98BCF97A003D744074BD68EE57BDAC48A93CCFD3F73C5B901F3C9D1966BD6861833D14F7903D15149ABA15CDAB3C019428BDCDDE423D180A59BC7241B23C6C43B73C985AAE3B177F873CED271ABB0A0966BD4E78B43C25C0F73C735199BD046CD1BC4C62383D3BC2DF3BDCBE7F3CAADC4E3B97744BBDB451DD3C3EC9DF3CDF6285BC1A28D1BD92D0823C283DD7BC3748773D6D33A3BD71245DBC0E06EBBC047F7D3D13092DBD761665BD6F26E23DC37E673DBB07163D0EF369BCADD1223DEC8827BDBDEB08BD0C5420BECD10AABD0242073DE9ACDBBC195F8FBA59B7CCBCBB47B13B6D17B93DE6A340BB464931BD1A47913C3BBEF33B10D58ABC5EB06B3D42E42C3DBCE28DBC977DDBBCF3CD03BCFF7551BB948CA23DF1DD733DC3A1E13CBF26FF3C2414A83DB64189BDDFBEB7BC76E5EF3D604B053D07203BBDC978C33CF84A40BDC6AEA53D5446B93C3A2987BD12B2953D4FA3253D5CFFFEBC6C2242BDA687DEBB777CA1BCAFCF023D47E21CBD80B32CBDAAFCF23C7591833DDAEAD23C10C9C888E041363D1C7B0CBD52B3013D54FECEBDE8EBC13D6B8398BC33722BBBF922243D5511303D163F0D3D6FE21DBA2178B53C32BC283D227AE2BC982E8FBD9F0D2A3CA4D34EBDC73D553D531087BDFA49F03D6A251ABC1098C7BDF8C9BFBBD5D084BDFF8E9FBC6908543DB8509CBCBE9F903C9181DF3B4D7D4D3C4F4DB23DC5CF9FBC2A3F7A3A9AD18A3D47BB153DB43610BDD5903A3D71E0763CBEC17F3C3518093CA9A59E3C01CDB3BD9CE640BD006F5F3D0F75103CB910833CEF19193D98D981BC903EB43DF2E4BE3D93D932BD883915BD0CDE90BD0BC2993D9F2D3ABC6BC0353CB5F1FFBCE4BD4A3D070AB3BD70DE89BDFB1403BD864B593D971772BCE81DC9BC64165FBCA2787E3B179A8F3CBACA76BC6F3733BD13C1C83C84E0DA3D2754C0BC1B4DAC3DF3D7A53D7ED14DBDAB99D63D814B973A316B853D9DAB513DD606603D545035BBAA095A3DFE3C95BAE0A9913D2CCD3F3C0D461F3C7B567B3D1F77FABCCAA8213D179FB13CA1A402BDBE91DE3D810C0E3DF15CCEBDF8FECBBCA59BA288631975BDD3DA6B3D855D0A3B170405BD9A71C1BD1B6FFDBCBDC2593D45F08C3DBCF6353DA76FE7BB1390FF3C279F873DFF5A253C815F743DF6EAA1BC0E6D6BBDC3603C3C68598FBC69AEC13D15AFE53C4F3A0FBD3A43603D3188B13DAA65373DD2108DBB112ECDBC720CD23C04226CBDFA8B1EBDCFFDDCBC528A62BC4918633C786E7EB92B36D43B4E0BDEBC0CE647BCB4AA153D0DABB93DCCA8583D4E8D49BD914927BD93060BBEB054263CFB475DBB5995E4BC44658EBD1CE7143C6627323CA5D4BABD4AE6BEBB8DE25BBDBD105D3D1A334D3D6F48A13D1EE5C8BD7E78DE3D9D629B3D46AB823CC7BC333C2FFA393DFBBA083DF7D595BDF07709BD28530FBD5A5E5CBC58A2E43CFF8B3C3DDCF44AB98A989C3DA9F721BDAF813CBD801E89BD2C421E3A4F7D1D3D2C96063BF2C4843D24EC84BDDD872BBDE25316BDA9E5103CB78609BDD43D6ABC24CEC8BDBBEDA8BD5CCA46BDF4D799BDD9602EBC0CDF64BD370C27BDB7820ABD1B26B4BD4EB7693CB4E1E5BD3070803DFC65A8BD25A178B2707D063DCFBAD73C01A26E3CBD7A23BA581A9BBDD5D590BDA708373B0BDD13BD941192BD01F8833D4B64E3BBBDDED73BC20E40BDCE1D093D4690833D151A7ABD901B9FBC87F44FBD0157E4BC4E13683BCB091E3CE691E63C06FEED3BE8EA1ABDF49B26BD32D18CBDF4D58B3D7CC8ADBCEC961B3CB9DB94BD1A4B3C3BEAFDC63DE83846BD820E95BCBC2095BDD2A172BDC4DB5DBD1E1855BD577CC1BC1A93D43C77DD3C3C47AC53BCF5168BBDDF6B45BC5AF16A3DC529223D0041A83DA2F1163D146BB23DD80A6ABD7CF7653C1896B23C565E143EAFAAD1BD653F533D19C71E3CA7B303BD6650D9BDC48F413C23EFA03D7E4531BDF4119C3DE5A2BF3D6FE303BD','52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67');
INSERT INTO "witness_vectors" VALUES('3b8a94b4-c404-5039-897b-f4c590497d01','all-MiniLM-L6-v2',384,X'9C5CF5BBEEEB92BC03AA6ABC035BA63BBCD317BD0CFFDDBC6FAF96BDBE868EBC597E73BB8F54CC3CAA83253C63E70D3D61493DBD34E1E5BC8409EC3C68FCDB3CE0F1673D32C450BD2C5561BD3FC064BD214333BC83E512BD9ABD653D3B09F5BC7C89853BECFCAD394D4A0A3D36875D3DD93D293CC65127BD74A85DBD2E8D0D3DA110033DB7C36C3D8A3ACABCF20AB63C9461813CDCFFB83C294EF2BB5D40333C89064D3D83114DBD874591BDD3340C3DF8D8D5BC4EFA9FBD9BF1C4BD2F6A26BDA848A43D99B1863D09140ABDEF2CCEBC567D82BCF9F0613DF17B643DC629A63D60FA59BC8407093C09EB243DC461A73D3A1C903C152C2E3D2144A2BD5C3D253D79F464BD8E38593DFEB760BC3E4A923B66EB363D4053E9BD619F73BD02DEDE3B9768B4BBD433383D936CB33C61F4873DA541053DD018133D82155D3DCA165FBDF842B9BC003DAEBC31B38CBC57F58DBC2FD629BDE838EB3B1F3396BDD85B8E3DDB18E03D4EB4B23B94BE7E3D9260B63C408223BD287CB1BD8A0976BD1FAC3BBD27B08ABDCB2396BCE623143D6382563D820ABABAAC20C53DEBA20ABDA1E2C7BC87CFD8BDD5BC12BD25E2C83C3F06243C93E2C9BDF7A3D63C50C9F6BC8FD8EDBCF839903D0B2153BD7A533FBCEC8B9F3DD87AA3BC78E38CBCD19DCF3CDA96ACBB7D3F923B2CD27F3CD36B2BBCB2E0B0BB769DF7BC6432A63D3CB080BC631816882E18373DB41D24BD232A843D553293BD150B8BBC4FE8A4BC4D73353CF179BDBB69DC76BD26C7F83C3712B9BD5E72CD3BCC064BBD8E851FBEAF0BA1BC2663513B476CAD3D271B713D7D5D8FBBA8BA463DE4859C3D4605E8BD3E61C3BB0FEF43BCFBC7AA3DBE9EB2BCF47DB73C2564CEBC8F6C023EDCDFAF3C4D2F13BD9FD39DBD5EC183BD5595763C2DA4563CF747E53C595967BDF70A223D712D1BBDB74DA6BD7A27013CE1DEAD3C1FF059BD3688563D9269BE3CB5C7303D2277273CC3FE51BC3703D83D3B21063DA79901BD6FDDB43C767049BDA5AF273D7B7011BD16D83D3D78D1E83CC62CD5BD63B3893C2564A5BC05BB1E3D655C4A3CB3961EBD637EE6BD7BE6FCBCE412DCBCA75D44BD5FD508BD9D8D7F3CB336463CF634B73D375A2A3D516A3B3D38E5D23B3D6EBCBC8AFC70BB99BE24BDBFC174BA344A24BDE8EAEA3D84FCD83DB0B9CEBCDBE500BD2AF5633D849E743DFC32CF3C47F2A1BADAA8A1BC169B81BDAADCED3CB17B6BBD8353203D9A48813B78BB7C3C7352B43C9E95C48852BF873D3613BBBD9CCD0DBD8B55523CB773F13DB72462BDA191BFBCA49A153EA8DC0CBC3FC1403D8A15043D38FF21BD00B82B3D7DD8A9BD13DC7A3D9ABFAA3BCF74213D5DBE303DF378B73CEB820A3D7FB819BD47C70A3AB6B9C53B473462BBAD3A933DC00D143DDE68B13CEA741E3D3C979CBDFBA4823D9F6B34BD8E4DD4BDB91FE0BDCAA7C03DC5CE8ABD34356ABD206A57BCBB7D14BDC8AFE8BCA0AF183D2CC2D03C1E30423D736513BDF1A4093D61FCC4BDDD9A7A3D36F2483CCBF1AC3DC457B7BCCAC7E3BD129D953CAD02643D52010D3C59214E3DE9DC953D8DE3CA3D12BFBC3D2F062EBA117B9CBBBBFAF33C0C934B3D8B31D3BD93038BBCC309513CA6F30D3D6CE5B0BCFB9D003E7521303C5992A8BB76DC31BCB247A03C440E6BBD6F5EC5BD9341B3BC8D309EBBC2AF783D34F85BBD6497133DEC1990BD653A153D7D5A0DBC262E33BD085A4EBDB8105A3C808BD93C89CC943CF425CF3DBF8525BC7B0CB4BC236B363D83CEE6BCC89935BDF0D5C2BD535D0D3E27E008BDBCC0A8B2A6E8293D58D7BDBDA321EFBBEF6950BDDCBC6B3DC8A084BD64A8023D27EF043D4A3D6ABD0DEFAF3CCC5BD23D2264D73B673AA53C039AE23CE62C413D768A01BDABCA803DE61019BDDD715A3C38CB07BD73DBE5BCABC958BDEE20733CC67E203B1603973BF4CA6E3D6E8F82BD6D0B903D3762903DEDB1DE3CC724883C9618093D779D493D4D5286BDA4390BBB46AB89BD915428BD19884ABD9C18CDBD9245B3BBC3FE9B3B23F82DBD20BADBBC1518A93CA203363D297D143DF483AB3DFD411ABCE18BBF3C03DA8FBDEC7E3DBC390788BD87803F3DEB63AEBC391BB63C7C4E79BD339FE83C6448DEBD6208F13C56CA84BCC9F2943CBDF217BDD70F8ABDBBE0503C','08f0adccac825f2049275b2f0009f7a3c25037b97d47e97ef525a75cb014ff68');
INSERT INTO "witness_vectors" VALUES('551b85f1-61d7-5fd2-9d53-23eefdf042c6','all-MiniLM-L6-v2',384,X'AE1E09BD3A9B0DBDB5558FBD2FE1D8BB0213F9BC4E9609BC9DDD14BEBC8365BD34E19ABD56A66E3C74A6443DEADB503D01F7E0BBFCA39A3B8D4914BD07D13BBD2238BDBCA32899BC55AB55BC560983BDB9B477BD82930A3B46442B3D44FF5A3CB0508FBBD3986FBC0B3380BB3D398C3C4106F2BA8CE1ACBD9B4532BC36FE803D3EF24DBD19547B3DD0646F3DD3E53F3C8C44723B237FC53C64305B3D89DEC93BF384773D874207BDB0A033BDE80F893DD8BCAABBEAB08DBDCDE387BDA2BEDFBC082B7A3D6D45C53DAFC19FBC3861833B79EC243CEB2C47BB3FC3B23C7CB7AF3D37EA59B8D9CB29BD92AAE8BBA2D2183DC244BDBB375A1C3D497212BDD199C2BBEA7DF4BD4BACBB3C73C8833CBD39833CFC2D7A3D46BA8CBDD782F3BD5F5D3D3CD8662BBDFFDC7F3C2E978BBCAF4AB1B938674B3DEAEE1EBCE948883CDCBF51BD0D0567BD6601AABC71AF043CCD4E5A3DB07BB4BBEBDEC33A85B329BD6EC9873D239BCA3D37152F3D90AF633D225D193D025F0EBC6CFF93BD55C6F4BDE9D2FFBC541F7CBDE4DBD43C0956993DEB6D783D72C64C3C1428313949BC2D3D069EA6BB3161EABDA54267BD97D5803DCEFD293C74BD92BDA659E03C7DEF7D3B29842D3D439B813D92D2FEBDC3F812BD0E233C3D14E166BCDE8901BD4EF8523D3607263D01262F3C97020F3D5DCBC5BC28B302BD9AB5A8BC40B4A83C20AD87BCBB49310981EC733D0C5732BCA8CB513D3ED245BD21EC3BBA1A813F3C2924F23B9F0E8D3B702C0ABD573B99BC8728CABD0DFA2B3A16853ABD7341E4BD43325D3C6DB5143DDB8411BB5456B73DF945D53CE53C0ABCD7F68E3D7B6206BE459DA5BB76FE0DBD15C7F03DE07B1C3D3992133C0AFF33BDCD6BB53D566F673C343C143D750177BD2D8511BD0224633C116E313D7871E23C269A08BDB966453B4ECF81BDB16D71BD1FF6F7BC319341BC2A0252BD79C9753C821D313C07CBB93C505B803C1E6D2BBCC118B93DB659B03C6E74FABC5397C0BA21148FBDB77E1B3DCF8CCC3BD612483D412BF03CD82665BD481FC03D4F65BC3C48E09F3C1300D03C7A84E5BCE77419BE8A2394BC288C24BD2651E4BC73550CBD271CDFB98CEA17BD06F2B53DBCBACCBC90BC5D3DDBD986BAD5D618BD3CBCD43C5E5B86BD75BF033BCD104EBD0CF0983DD4E5F33D391383BD5F970ABDAF70B73C079A1F3D45F2243CAE246D3D25D8C53B9A86CBBCDAAFF23C68E4DDBC7815EE3C77F1373DFFAF5A3C06101C3C7B878089C176153BCFC4C0BD6CDEBEBC993BB53D7C45953D351F5EBD753A29BC28F0013E1CFB09BC534FE33BE3ED223DA4D918BCCB641B3DEFA88EBD16070E3D73D21C3D4A12E23C12802C3DD93482BCFD2E8D3D0AEDEDBCB74E1F3D02F2ECBCB33C1FBCB550603D810C113D848E713D052A413D44839DBDA0DF833DA7B224BDAD9CE7BDBFA0A6BDBC3E7F3DA6268ABDB7CD75BDC21628BD93CFB33CA0E2FDBCC866AD3D9FE4943C2B21A73D9245DDBC0D0E6C3D725DFEBDFC43013DCD03B13C0EF3583D61082C3DD3EB84BD38D965BC127728BD4B40043D5D716EBCA424983D7DE9A03D2C0FBA3DA598F5BC10838FBD1D704B3DE3AFA13C892A29BDAA3E7BBD192DA73DE94E073D5AF656BD4890AA3DDDFEFABB68A12EBD712F363DF9180DBDF94EB6BBCAA7213CE9B4B03CEC06A83C99B9563DFDCDA4BCD1E7833D956835BD18AD79BCB72F93BD350205BDABAD02BD71E33EBD9D561C3D0D2BCEBC0AB371BCFABCBABCF97008BBE28DF6B9B33502BB16D91BBDDF15B4BD333CDF3DB7D6C3BB1C95C5B25A9BBD3B98D613BD5A2EB83CD6B9D5BC95D7D43DED9CA6BDD72C013EC1A5403D663BA4BC4DD2573D1BCE053EA1A2F6BB9DED693D08BB65BC07BA9C3DCC5ED7BC37D3683DFE40B0BC04094ABC0EAE8DBD96B6CEBB975751BD93885B3D01A3E9BCCFAC0A3D0244773D01EB7FBDD485993DDAB21A3D0C2719BD8866E83CA407553DD52E733DEE0EF1BDC5FE183B90FF8DBC47220CBD978C8D3AD47604BE3049D23C68AEC53BD15044BDD8EFAFBCFB5FC43B8467433DA0C8873D671C8A3C684A96BCDE127E3C25B596BD8FE9AC3C0D6C76BD02A0F63D4879173D3F7D023C57297BBC1B97733D5F2381BDD29A0B3DB096A9BCBB79DB3BCCE248BD93E6C6BDBB1D463A','9cc91905a9548e85286609dfe0beadbbd54c01a8646ff8117afd38eb90a8d79f');
INSERT INTO "witness_vectors" VALUES('7a92445d-1916-5d5b-8aa5-20f52e6e0a38','all-MiniLM-L6-v2',384,X'CA7352BD75EC33BCE68A3EBDD5B1E4BC6F0119BDBD82833BBCF5DEBDAE9B38BDEADD58BD47B10D3D6660183DC778943DAEE3743B562E42B8D0A017BCC0E8B2BC9F73123C052E31BCAEECB0BC30A882BD0C2A84BDA2B71EBC2B347A3DDE0612BB6FA804BA680D50395473A83CD8B8843CFFA50B3DCF1A93BDF49C093C07F49C3C6263A9BC15C5173D1297D03CCC62633CFEBE8A3BE7631B3DFFDE013C2E3C33BC60BD883DBFC87DBD4AA893BDC2C38D3D927838BC4D7485BD896884BD95D32E3B7CE8373D6721C83D320B60BC0E7CFDBB451E063CDDC890BB76DD323C5983983D54E6D9BC22C022BD81A615BCC7F48C3DBBA68CBB9A8F333D1C3C68BD92FF98BB024189BDA1D6213DE77A573C83D0243D2DEE833D9DC3C3BDA06AE9BD1FF92D3BF3967DBBEB1B123DBF1FDFBC879C0FBDF1EA243DF2A39A3B8076993CB8961EBD1E9324BD70F70CBDEB7D863C1EFAD53CB3A2C9BC7F4137BDB6447CBC65D89F3DF268D03D9BC64A3DA736423D6EE4083D5BF3A4BC346A8DBD5F21C2BD66781ABD1363A7BDD93CD53CD954963D8A62223DAEF0AD3CBC8F583D603E553B3BED25BBE3B6BCBD1E27C0BD8B1DAF3DDE87DC3A2FF7AFBDF4344C3D9FD92ABB8EC8543C7ED5F13C3DA500BEBAD7F9BCFC8CC83C20342FBDF58EBCBC3359933DE47A56BBB6DEE0BCAC022B3D8E4437BD7192E3BC845B29BCCE41003DEDB559BCF6891909AAB6153D1C08A13CE459133D7101B4BD9BA1A93C8B96E63C949A233D17ACAE3C352D68BDD9D0DE3B7944D4BD1602B8BC03607FBDAC79C1BD0900AB3B6D48DB3BF3DC613B16D9A53D463D0F3D918A013AFDA28C3DEA33FCBD36B072BCA8776FBC743DF43DEC52623CD72C23BC215AA3BB8996D23DAD4B1C3CD346203DD16C88BDB79967BD471FA33C0C73EB3CCB8A623A38AA41BD8D52223C69F4A5BCD3518EBD6CDA4DBD3A13F4BAFBE925BDE0311E3C1DCC0CBBA10AED3CF53525BCF551FBBC17AB5F3DA3BFD03CBEBBC2BCCC559CBC9B2937BDD08D833D2854E5BB77FEEF3C0689BF3C00AF77BD54B1A23D0751803C3133C23CA94A343CDD9F06BD0F670ABEEDD3F1BC06F206BD63CF323C7458A2BC00DE8DBC6C7763BD4EC1B73DE073C9BB79B19B3D2F9FFDBC5CBC7EBD30CEDF3CA9BA56BDC9B069BC665F20BD207D933DECA20F3E53172EBD90ACFBBCD586FD3CDF32B23C4AE79A3CCD7A2C3D648C87BCED659BBC2F16CA3C015CEDBCAC66C23C1770343D3466093DE40B023C556337894E45733D2BF0E6BD6550423CE203B93D2313AF3DD0514CBDCD3E28BCEF80083E0012A13B8D80FC3C098FC23A2D6FABBC0816603D4805AEBD87D2063DA190D03C1B984A3DD36CD03C69AD95BCCC3F423DF37C9ABC2176DD3CAC9527BCE230F9BC0112B13DD45FC03C971D383D038C3A3D9143A7BD42259C3DD09050BD022CDDBDF611ABBD54CC4C3DC3DE96BD8DD85CBD1C2209BD68583F3C8970B7BC8529AF3DF89E103DE2D49A3DE28164BC37D0203D96B4D5BD1B417C3D870E033CB275393D15B357B9EA95B0BD188A59BCFFEAE0BCB9AFD23CFDA509BC0EFA4D3D93C5BD3DF63F6B3DD26D91BCC685ADBD0A04A03CEAFC463D3E3D80BD067835BDC5ADE43DA606293DC60C22BDCBD0D23D28DDCE3C9CB7C8BC58EFF33CC11AA6BC183E88BCF30F8EBC611E903C56698A3C6D84933D288970BCBE563D3DD43B85BDEBEC20BB436653BD0FD46ABC47114FBDA7301DBDE57C0F3D9D7A3DBC11A0F03C3B9013BD228945BC1A03E6BBC7E69E3A0C73DABC1D46B4BD913A243EB37324BC28CFA4B2E6FF3CBC59C7B5BDC1BFB03CEAA722BDD232B43D48E2BDBDB056E93D5892543DFD61B4BCF8F6883DEC602A3EE242DABCFDE9243D3F4440BC14A38C3DEF6C21BDC7D4BC3D9B1E04BC2ABEC7BB1D9E85BD8BC12EBAB9CF99BCA195823D67A29BBCA37E023D4897953DE98484BDF7D9BD3D53F51E3DA6155EBC53E7123DA2D0703D1834583D82F5A7BD81B0CA3C89560BBD1E1012BDB8F184BC61680CBEA97F483D97DA5E3CC35409BD8B5CCABC958AAD3C98395E3D19A7F33CE061F93A480297BC3F7C503C0E435ABD2A192A3DA0EBE7BCE5ADBB3D909A093C4CE5FF3C73142DBDC6BBEA3CC5705CBD60692B3D70EE273CB852D73AE57A0CBDE8E0ABBDD3F95CBC','3c14d7205cb5f1fbdedbb51144568bcc2434a01a4e6256724a75d0ca6882dbec');
INSERT INTO "witness_vectors" VALUES('a69b07fc-e3d2-547e-956a-2b9002614a53','all-MiniLM-L6-v2',384,X'17176FBDFA4D533C0196B7BC161C89BC8D782EBDB919623CD5BFA8BD71D00DBD4BB6C4BC7D35AA3C7EE6263D922F543DE3452A3B0C26B3BBCEA8D8BC71723EBDC5A31F3DC86183BC937B8BBCB3F893BD9BCA80BDA17B8ABC6B73793D83C2BABB54B6E13CC708C9BAAA90263C3D980D3DE91F363D227B7CBD568DAEBAB9B1B33CD7DF5CBC81EDEF3CA3C93A3C252B64BC570327BB77172D3DD1B381BCBEDD11BB1401353DAEE651BDA64FA9BDB740803D0252EBBC2BED71BDE77159BD8054013DDA42103D3F2FDA3DA2DC1E3C084ABDBCACE4743C6851513BF50AA1BC9B7F883DA99874BCA7C538BD64CC96BC13A69C3DAD6807BDD72C3C3DBA6B88BD3CF4053C9AA283BD5927FE3CC4FD713B1219C03C0228113D0173D3BD2812E2BD71B494BB7124A93C3C52193D6505F93B6EB1DCBCDE9F513DB5108DBB06593E3C398AB3BC00D224BD677E16BDC75EC93CF26D8A3C843097BC18B849BD002C44BC33FFA43D43CD023EF96E273D1EDF803D7FBF3B3C97E517BD222BBCBD8BAFBEBDE95119BD59F195BD9E87353DD413913D2F0AEB3CF22E223D1E9C123D3D65673C94EC28BC0B268FBDADEFAFBDBE58C73D1EF0F43BCF1FA3BDFADD713D17129F3CFE1D353BF81C483DF5B0FDBD313916BD34B8393D860F89BD6113EFBCAEFCAC3D7E6352BC74FBC1BCD1552F3DF1FE4FBD25A605BD025813BDB84FB93BC439A4BCEB5B4708BC63323DC591493DB766293D6075CBBD0146383CA191063D7B15403D2FF82C3D5B9F78BD7923863C8632DFBDE9CF83BCDDE535BDE02F98BD15B8A93BC4B2D73C667CE2BCFEA5B63D7BD4FB3C4ECBBC3C94575E3DC222FFBDB417F3BBFFB84A3CFF55D73D05A09D3CC44DA9BC9C3C6ABBF78CF73D75AC39BB28E23B3D012783BDBAE1FFBC6679B43C88570A3D3A94E1BA687596BB1E3D92BCA2499ABCCE2B92BDEBAA26BD579000BADCBF34BDFA8A08BBA41305BC3B81B83C949D15BB5E7514BD0F03463D8E422A3DE80213BD715C88BC34FB63BDF62B7B3D5C9B6FBC0381E13C210D723DF86A8ABDF80FBC3DCE00543C4A41E03BED78F0BB9BDB4ABCC8BAC9BD16B047BDE8C9D2BC1E3A5E3C1958EEBC09B8CB3A2AB83DBDA890AC3D2F610FB96429A33DBB2B97BC19597BBD3AB7363DB76F79BD659EE8BC509003BCA9A7BB3D38F7013EC91C4DBD22D88EBCE6043E3D04BD243D05B1363DBDE2333D34A9EFBC5100C9BC32E9B13C7E599CBC1579B43CA8D6F43B7BB7A03C6064373D70D0E8889C1F433D6B6CCCBDA9F80A3C34D6BF3D5289963DEC3639BDB308A3BC2FC6DF3D00497D3C5368063D6F6B10BDFFFC2EBB59E43C3D950588BD8AB63E3D4844A8BAE023E83CF854373CC11A96BC0623523D333BAABBFF03073DE2B55D3C8C23FFBC4EE3AD3D4CE8923C9DECFA3BCB6E273D8A0DB2BD95F4E23D0B2952BD96A8CDBD8369C2BD86E8113DACF683BDA1D36DBD3931E0BC0346CD3C2D3DA0BC00FAAC3DF1E8653C271D4E3DECE2143BA930353D89BFC3BDD56A163DA636463C19C8413C5C1B523BF516B2BD0F1215BD3406D4BCB3426F3C54DD043CEEBCCBBB726FC53D9536503DEF15ED3B0402ACBDB5A78B3CC5D17D3D69B768BDC0CB3EBD69A9CA3D0BAF103D7ECF04BDD5A2F33DBC87393CF533BABCA293003DD5BC58BD47F942BCD41175BC92C7F63A3E06A43C6ECEC43D54B5813C6ED0493DF19355BD11C64CBB4AEE53BD9F693DBD94CACEBCA2452BBD8459313DDB601EBDE920B03BE67648BD477C11BD60A8F13AB5588839F2380FBD37A7ADBDC8E51B3EAC41DBBCCFDEBAB2EC08A3BC2E4587BD4BC6D33BD08521BD83D9C33DACFBE3BD685EE23D8D60883DDDD6C4BC542B4E3D75FE233EB78E09BD78AD173DA2921D3C4E25993D59FF14BDBDE8C43D9DF0E6BC14D9DEBC60685EBD91072DBC7E8338BC1F76133DDE3ADFBC8503F53B3CD7853DD2CA6EBD9F0BFA3D6D4D243DC80BAFBCFD15E23C61598B3D6FA85A3DF2B28ABDAD45173DD74723BD2D8B01BDAE58A0BC342C05BEA375443DF9B5463C78BE0FBD8B062EBDA815C43C37AA983DE2F4123D570F1EBD259002BD949D903CA3446BBDAC81473D7AC1B3BCD394C33D838BDF3BC5E4803C8B8880BD52B8473DA5441ABD671A043D0ED60A3DE80E09BC222771BD436C7CBD7258EDBC','d8642545aeb0779047335b3bc3f6ad2255d7d7e2ca262ca1ec8344199903e7b9');
INSERT INTO "witness_vectors" VALUES('c824c37b-2465-5869-bcb1-46f767067bd8','all-MiniLM-L6-v2',384,X'98DD3DBD112F2CBC8F5AE9BC0337DD3BB3684CBD5A06553C25B34ABD520F08BD98300EBDFAB6773BD358C039DAF7023DF7E83CBCB081253CDE7AF4BCD7D4ADBCED8E1D3CD45D87BD07978DBD839C8ABD77FF4CBD5DE308BDED5B593DEBC6B13CBFE6AFBB4E8EC6BC2409323DE797E13CC2C6693CA3C252BD1EE267BCF2F54A3DAD62A53C505E6F3D0934A2BC68EA943C1C35D23A871AEF3C6F8E363B5D330EBC0741B13C051889BDBFAE55BD95C6043D146FC3BB0AEE8DBD460858BDEA0A89BC5C73253D87B1BE3D7036F4BCA91DAEBC69C68EBB25CDCFBB0291133DF42F993DFEFAF9BC21EE163A741F6A3C3933BD3D1FCC6EBD1731553D08D08ABD9E9CE33C82B5DABCE111CE3CE9D120BD5D252C3C515ED93CC4695CBD6739F8BD4FE94A3C83FCF23B81D7413D1AEF813BAAA598BC3864993C04FBF6BC07BC103D8270FA3A8DE6DABC159D47BDFE6F433C7F404F3B6D6379BCE305D9BCF7BC773CC789D63DC5D0D73DBE24123D84B72F3D89FA313DEA011FBA42A17BBDD6A39ABDEE798ABC3867A7BD2131223C68ACD13CBC9C643D5AF9593B14A1443D452930BC0B97FC3AA6D395BD371026BD768A283DCAEF7D3CFF797BBDE0964D3C60FF19BCD096393C12FA903D1AB7EABD51793CBD11B98F3DA312AEBCC01F133D9352333D5233AFBC98071BBC3016873D4B5A683787260FBD593D74BC4F463D3C39799EBC2DD22B08D8F90D3D1010FFBB226E663DD31087BD6CF27C3BBCDD0F3D5638E2BBB5672F3D9862D2BC70BAEA3A2FF684BD186D62BD5ECC22BDBFA901BED6EA883C297B363DAA45983CC09FD83DA67331BDDA5C00BCACF4B53D849E02BE7189C9BC6805423CDD2FD43D89EC1BBD7D9CEB3B9A6F9CBC292D003E12F2803C09087F3C716C76BD16D8BDBD3BEC853C92D82E3DA3F5F23B1AFC713B30F9F839A0C581BDA73DABBD7D2611BD93B2DE3B6C16F7BCD9D8173DD572D3BA88B40D3DCEC6AB3CFA1143BD9BFC3A3D05B2113DA2E473BD0D770B3C46C5DDBCEB32423DAF80763BD897F93C9F86213DC60BADBD5C731E3D3ACFA43C75F0563D35BCD33BB10691BCD5BA1DBEB66E26BD7F323CBC1BAB9ABC2CACD1BC37732F3D525833BD22C4DF3D85FE883C183F923D217058BC515FB9BDEC54243D13F407BD7475BF3BF66F4E3C9283803D7736263E5CE410BDC73039BDB39A81BCB9DE28BA18A2C83CA832393DFADF5ABC66EDE3BC516E343D3A47C9BC0059973CA3505F3DEC040F3DBFF9643C8656058925021C3D4C1AEDBD6B3524BD8C609C3DEA56BD3DCC446ABD00C700BDADEE0F3EA013043D035B523D658C88BC20FA1AB90793523DB50290BD80F00A3D6D0B01BCDF1E763DFA10D43CEC3B39BD35E4853DFD6E3BBD66526A3D272D4ABD18E4ACBC2EED933D6528343D89F6633D6207313DEB4DBABDB755A53DA74B98BD3386CBBDD8CBD4BDE790153C3DF592BD7BBD08BDA317F1BCBD6FD0BCD8B394BC3EF5E03DE3F1753DA03D453D2E1427BD936CF53CF618F4BD21C36B3D7218C03B2E28FA3C85D9A3BCA35260BD9A993EBD667E82BCD0DA053D9D4F50BC7C72953DE8E4B53D4943093D3A42C2BB73171BBD37900D3D147B993D50420BBDA2C44BBDCCBAFF3DB40D853DAB6E34BD3E369D3D2A07F93C63AD5EBCE8CCC6BBE5AE923BFD6C13BDFABC22BD246F74BB2B8D013D6FAD373D890C75BC2B17EA3CA7008BBD1CADE8BC601F24BDAC5E4D3CDC8925BDE35941BCA24DAF3CB65A57BD1137BB3DDA7209BD2AB7BDBB943EC33C718EB13C9AEE9ABCA64FB0BDC04F093E7FE380BC89DDB6B23D8C06BC2E299ABD97A0333BF2485CBD146ED43D4B85BDBD413E903DBCA6EE3B7A13FDBCD2858B3D254B0E3EB0550EBCE580373D29C5C3BCC1EEB83D15656FBD3CF1583DD7014BBD02490DBDD4F9BCBD2FED5B3C8CDA79BCF030863D2B6ABFBCFB48E43A50AAB93D599A6BBD2735D13D6A040E3C32648A3C92B9D33B1351013D4759E73CCCEFA7BDE937EF3C3DC193BCA67410BDF7A65EBD6840D7BD92BCBB3C832290BB8F3C1BBD226FB8BCECDD593D2829273DE09C7F3D9F655D3D28F70DBD9F41C2BB598BC3BDE1A784BB6D0A3EBD9988C43D201D0F3C1F0B543D9EA22FBD11690D3D622C15BDBFE73B3D306B28BC4679163D71CE48BCE25CAEBD9A2F77BC','b0dfddbfeb58a50c1975d68887679f973b4fdb153d119949b864e1c1ef623ea6');
INSERT INTO "witness_vectors" VALUES('e8b5c38e-f2ae-54ad-be86-b0e88b339e10','all-MiniLM-L6-v2',384,X'459033BD5FC88F3C955122BD4A19A9BCE79503BDD8C57E3C43D4B2BDCD6213BD6E011FBD8C8AD83CDA81283DC59E7D3D6531B63BC192D13C9FF7873B412429BB6D4DE63CEC8913BD175938BD4BB165BD1D743ABD156F03BD620A9E3DD9ACE73B034E18BC0F070EB9CE37B93C7FE5463D9703423DD70D9EBD21970B3CDE5C043D8A9E52BB839EC83B868B50BB4541103C630C79BC87DC203D6C2E55BBAAC7ABBBC6507C3DB56FA1BDB544A7BDCB34743DF25F6ABCE895B2BDDB9A7ABDFD8E41BC3A82613D4EA6C13D87037BBCFD47CBBCF3A57B3B937821BC5A49863CA0AD893D667515BD2042AFBCC6F8FEBA1D70A23DAA98A7BC28B57B3D7D7F71BD1AA0A73AA65771BD2A6D963C6EFD99BA159E8C3CA6877C3D38DB58BD6632CFBD8C1D863BA0FA403C1A79FB3CFB6E61BCC151CABC67902C3DC7E1BEBC1B61B73C4DDB2BBDB5D206BD3107F2BC6FBC8F3C3B62083CC30814BD701903BD4151C3BB79F6853D44C2B73D0836803DD9E2963D8936043D6E3FABBCB7C38FBDD12F7BBDF25EE8BCBA07C9BDAF5E9C3C019F313DF2881D3D6EF0083C2154253D4ECF3F3CE863F13BEB6BA9BD8EC0B1BD9886B53D22AA1EBC9A8ED3BD27B8E23CB81FC53B7E13923CDA9D623D942AD4BDB7EE59BDA90B843DA48405BD62FAD7BCA01A4D3D11FD853B1C71B0BCA683123DCC7DC6BC809532BCCCAF4BBD6BBEF43CA411ADBB22A3A208200A1B3DF7C28BBB5AB0B53BC42698BDAF7C853CFD60AD3C776AFD3C028F623CF3575EBDC743D5B85FA2A9BDC7D888BD3C9E82BD209AF2BD22D0BA3C5D6D2D3CB50BB33CFD81A53D80D8773C13BDFF3BA388B63DC85906BEF01C0ABD30D282BC1A2BD63DE13DB63C1998D1BA99AD43BC7B579D3D9C1B8B3C9D1FBC3C3BFD23BDB6F26FBD9DAE4A3CC03E863BA9732C3C938AF8BCF62C473CD6780EBD70FEA8BDC7DA58BDCE0D723C6C6566BD2E501C3DF8ECB73C7ABFD43C4667023D27119EBC9B25083D0EA8643D21D010BDB94153BC3F6036BD6B108B3D4B36EDBC6BFFC43C28AA143D29E4A4BD676E683D60FB073CB357023D809CACBB0CE48EBC5CA208BE361812BD2FD0E1BB6493893B0C48F0BC17838EBCDB5285BD726BBF3D051F0FBCB446843D033387BCEF679BBDD9A9A33B8D55FBBCCE356D3A60D884BC9DEF8C3D0287143E78F707BDF9FA16BD6C9F113DFBBD2A3C2178FA3C6B544F3D0FAA763B96D048BD409F253D5DEF59BB59D0903C2C287F3DFF29E63C324BC83C0559E188A9CE8C3D393BD3BD241A86BB0138A33D8847CF3D103D69BDA50C44BCA67E263EFFFE933CAC340F3D7C2D9BBB31A506BC4A24473DFD3AA4BD1194103D4F12F93B0954513DD66E113D1613EFBB6343853DDD4777BB6C9D1A3DEA4BD8BB2CD197BCEDE3B53D82D7073DD307A33C2EA6293D6E60E1BD188AB63D2BAC15BD5522E6BD479BC1BDEAE6063DEB7B6FBDD3F280BD52AF19BDC053C8BC85F0F2BC191BAD3DBAD8823D82C5683DFED8C5BCF5E28F3D03FCD0BD82F4843D38B5FD3C7EE2743CAD710A3BB684B0BDEF2094BCA13967BC931AF43C26B3C1BB8DCC353DD8F3B63DD646543D8B7B7EBCD570AEBD40CDBA3C7767853D9CB478BD9FCC2FBD5EB9CE3D1955303DDA98E9BCC674DA3D09B5293D4192E6BB1281B53CEA0AE6BCB66824BCC56C25BD7477593C52FAD43C4D89623DA2C23EBCC05D273D940415BDB9FE75BCD446AABD479487BB1FA584BDA5F03DBD38C43D3C7450C5BC7279493DA68947BD188BC7BCD1C9DC3BB2E2913CB1B109BDAC9396BD4497383E96328CBC02F597B2F351C8BB3E28CFBDC1337F3CFB0804BDD74FC33D7CCED0BDA295DD3D8CC7093DAD1AE2BC70789B3DF11B1C3ECA6B4F3C4B3AE43CF4E18839AC44913D4DD25DBD3823A93DE8BC3ABC142BC1BC678F8BBDCD6191BCC965C4BC5228943DE22CF5BC58B5433C7074A13D79A813BDDD8CC03D96EE483D70195C3B99BEF83C74F1053DE15B1D3D41AA61BDD6F2083C0D79D6BC932532BDFB19BBBC8F50F0BDA9BF3A3DE481703C33D530BD3C6FC4BC3D03E03C9A2FFA3CE002623D9973DE3B03E556BC2C9A55BC61EE9BBD5672EE3C5A9595BC7D88873DFA7C21386FC3243DC78259BD05F50A3D4B965FBD2BCC5F3D5BB96E3B8E90793C40E718BD139C9BBD647689BC','18c1b93f860176eff19419f77e1039b04f6b10d1d1bc76d361ad3cf50668e68e');
INSERT INTO "witness_vectors" VALUES('fee28b49-20b7-5afa-815b-c05d214f6655','all-MiniLM-L6-v2',384,X'A30792BD87F837BD51F3F63B283BFABC846A80BDB7B3C83A29B31BBD0CF8633C3EE6F6BC1AD98BBC1120663DB98B3E3CE187203CFA5805BD7EBEECBCDBC17F3CCF969E3CC93043BD5755A4BD4DD9DCBCE6E401BD15CE28BD56B3C93D09FCFEB8778A0A3DEBD8593B86E952BC9D2AC53C8573D93C008A4CBD1D37993C6B49CC3D61351F3B7CCEC13D659A04BD8CEB8F3B32025ABC142F523D6576EDBC7D12D4BCC122703CE5BAB5BD9CBA70BDD95F033D55251BBDF32C9FBD94A255BD009B95BB173B3C3D19E83F3B08FCC2BC0F3EC53C555B8DBD586B0E3CE114103C9214ED3D43A561BB65FD073D11AC743DA00AD03D41B5A5BB416F993D64C273BD8242D13CCC4B4DBD2DAEBE3C3B45F3BC3F9BF7BC055F063D4928DDBC6E58A2BD0F6A813D797E7B3C6C7D0E3DAAD5DE3C55A9573CEF051C3D9DEE0EBCD57D113DCD97EFBC17AA43BD181668BDC6F33F3DB646213D7C50D5BB27C256BD8C0872BD7986903DFA748E3D35EBEBBB3A8DF63C1F684D3C163905BC5B1D34BDEAA9C5BDF04012BDFB7CDCBD02A1013C3069013D55351A3D3C7C5BBC2961A13D0DA2463CF71E1D3D98638ABD276AB2BD924B8D3D8ECCCABC9CF852BDF6A82F3CED4D083D44D10CBD18BB5E3D63B381BD99731BBD9776423D73C7513CFB1E203D69D59F3D48F37EBDF62A03BD5832AA3C93F390BC67A7A9BD58581CBD181233BC31F8893B3A17B9084C00F23C94125EBC306E893D2D95A6BC93F9923C8BF0653DC37D273C1925793D1253193C4F90EC3B742B7FBD73091EBD2EE5B6BCFA28E7BDD9CC97BB18DA3D3D89C55C3CC9F4C63D5216373AEC0ABC3C8EDBEC3D0D60D0BD8BBCF83C7829BABB5937023ED386BEBCFEC3D13C17CDE7BCCE40EA3D2F4B1E3BDE1FC9BCA71A77BDF6F68CBD738DDD3C726E463D33820C3D73D1273D9CEAE43B6C0C90BDFB8669BDC52E0CBDCB427A3CA362813CD1DBACBB1A1251BDCB086E3C408F02BC4EC7CDBC4F7CC53D941D563DA2B634BDF295B93BF6774EBD26427F3D91B4363BB3CBFA3C91298A3A1231DEBD2C9F833D6F90CD3CF1EB703DBB4E95BC626006BD4090CCBDB42E91BC48FA64BCB66D11BDB16371BD2D2ADE3C2DF718BCC9AA673D0CC2DB3CC9E85C3DE34CE6BC9A7068BD3DC84B3DE63059BCB1F3EEBCE5431ABDA05FC83C08ED163E4D0DD0BC80DA2FBDB25F5B3DC55E5DBC69C682BA1B6A993C40024FBD7D568EBD6D4D923D74BF08BD20C04A3DBEA1153D0D2AEB3C3CDFC93BB1DC02896E91E03CF6E9C4BDAB1A92BBB872273DA769F03D93DD9ABD1D1654BB2B3D1B3E1FC48BBBB482A03CFB943D3D0E33D1BC43BCAB3DA87881BD2DD90F3D83E7803C3587B23DD706993C7AFF33BCBD2E253D127C50BD7F050A3D1B4B6BBC1DFC653B9A8BBC3D12E8073CD6F5923DFF6DFB3ADA2CAABD35F5273D58536ABD0E6CC4BD28E8AFBD0C68D23C97821BBDEF86F7BCB1566CBD8C893DBDE5B554BC87CCAD3DE31A8F3D5D64CF3CB7FEA2BC0444483D5775A4BD5CAC903D03BCB03CBDCA4F3D406731BC64CE94BD11F7EA3CE6C516BD588AB53C08DA0F3D599B573D3820AE3DCF77BE3D8AB2F3BC53099C3C34220FBCC94ED23D804091BD617DA0BD3AE0953DCF3BDE3CB56127BD35F1983DADEF9A3CB3989BBB514CEF3C112852BD69A607BC1D304FBC421AD93B288B1C3DB6685E3D7C51A5BDDFA0E4BC53458BBDF3A900BD456BF6BCF21E8EBC78E7E8BCA56978BD140D543CE10028BD1FDCAD3D726B363B46C840BC12DDDEBB513EDD3BAA8516BDE8B4DCBD35F2103EA0E047BDC5F0B6B25B8BB1BC5B4196BD388EA13CE646AABD0635A23DECEF38BDD11AA93DCC80DC3CB1896DBCB6B50F3B425DC43D6E33883C713E363D4BE60C3C38CEBC3D379D17BD39D7CD3DA8B12FBDCE191DBC415E0DBDADBFF23C3ABFF9BCC569513D5D825BBC790DC7BC732C903D329C6CBD8776C23D8137633C1D40273C41CC363D0D10DF3C14B7A93C76AB72BDB59745BC20F1C2BC4974DC3BDEC34ABDEB2FE2BD498DAD3CF858413C6C7660BD8168B8BCE0AC1D3D27C07C3DA93A033D20E9803D591F99BDE3AF443C26A184BD9B2C47BC48B040BD95EFDB3DA63D72BC895D893CB2D59CBD084E0E3D047573BDEC00903B0581A53C24AECDBB3F64043C65CECDBD183FB9BC','8ca9df7941c26eda15de8e61826682d834407694885432abfd4b45dc87ef3929');
CREATE TABLE witnesses (
    -- A row per memory that was purged: what nights go on reading of it, so that they do not bring
    -- together what it kept apart. Its text stands in `synthesized_from`.
    id           TEXT PRIMARY KEY NOT NULL,
    tenant       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- The columns of the memory that a plan reads.
    image        TEXT NOT NULL CHECK (json_valid(image) AND json_type(image) = 'object'),
    -- The names that it mentions.
    names        TEXT NOT NULL CHECK (json_valid(names) AND json_type(names) = 'array'),
    -- The purge.
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "witnesses" VALUES('23bcb7cd-f99f-51d3-b956-fcb06bcf03f1','on call','d72301066f6f020d5b9dc59f207d1743909b9f983351fefd21fb637e01509e96','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('32ded619-b121-533a-98de-d8c2ae46457e','on call','52e2e1ccc1483630d5e6611296ae02b02476645d56dfbca410c46c1cd4a1bd67','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"294d0e56-6931-53bc-af87-ec6f38761f58","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Billing"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('3b8a94b4-c404-5039-897b-f4c590497d01','on call','08f0adccac825f2049275b2f0009f7a3c25037b97d47e97ef525a75cb014ff68','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('551b85f1-61d7-5fd2-9d53-23eefdf042c6','on call','9cc91905a9548e85286609dfe0beadbbd54c01a8646ff8117afd38eb90a8d79f','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('7a92445d-1916-5d5b-8aa5-20f52e6e0a38','on call','3c14d7205cb5f1fbdedbb51144568bcc2434a01a4e6256724a75d0ca6882dbec','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('a69b07fc-e3d2-547e-956a-2b9002614a53','on call','d8642545aeb0779047335b3bc3f6ad2255d7d7e2ca262ca1ec8344199903e7b9','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('c824c37b-2465-5869-bcb1-46f767067bd8','on call','b0dfddbfeb58a50c1975d68887679f973b4fdb153d119949b864e1c1ef623ea6','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('e8b5c38e-f2ae-54ad-be86-b0e88b339e10','on call','18c1b93f860176eff19419f77e1039b04f6b10d1d1bc76d361ad3cf50668e68e','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
INSERT INTO "witnesses" VALUES('fee28b49-20b7-5afa-815b-c05d214f6655','on call','8ca9df7941c26eda15de8e61826682d834407694885432abfd4b45dc87ef3929','{"kind":"fact","layer":"working","status":"superseded","origin":"agent","trust":0.5,"importance":3,"pinned":0,"generation":0,"session":null,"metadata":{},"observed_at":"1970-01-01T00:00:00+00:00","created_at":"2026-11-24T03:35:42.939294+00:00","updated_at":"2026-11-24T03:35:42.975103+00:00","expires_at":null,"superseded_by":"01a20b9f-aa7f-797b-8a76-dc0f278e3283","superseded_at":"2026-11-24T03:35:42.975103+00:00"}','["Oksana"]','01a2106f-7844-7fc1-a113-f72f82944e04');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX memories_by_status ON memories (tenant, status, layer);
CREATE INDEX memories_by_content ON memories (content_hash);
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TRIGGER memories_content_changed AFTER UPDATE OF content ON memories
WHEN new.content IS NOT old.content AND new.content_hash IS old.content_hash
BEGIN
    UPDATE memories SET content_hash = NULL WHERE id = new.id;
END;
CREATE INDEX embeddings_by_run ON embeddings (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX memory_entities_by_entity ON memory_entities (entity_id);
CREATE TRIGGER memories_leave AFTER DELETE ON memories
BEGIN
    UPDATE synthesized_from SET source_content = old.content
    WHERE source_id = old.id AND source_content IS NULL;
    UPDATE memories SET superseded_by = NULL WHERE superseded_by = old.id;
    DELETE FROM embeddings WHERE memory_id = old.id;
    DELETE FROM memory_entities WHERE memory_id = old.id;
    DELETE FROM entity_scans WHERE memory_id = old.id;
END;
CREATE INDEX synthesized_from_by_source ON synthesized_from (source_id);
CREATE INDEX proposals_by_key ON proposals (key);
CREATE TRIGGER memories_insert_counted AFTER INSERT ON memories BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT new.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memories_update_counted AFTER UPDATE OF id, tenant, content, kind, layer, status, origin, trust, importance, pinned, generation, session, content_hash, observed_at, expires_at, superseded_by ON memories BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT old.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; INSERT INTO changes SELECT tenant, 1 FROM (SELECT new.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memories_delete_counted AFTER DELETE ON memories BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT old.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER embeddings_insert_counted AFTER INSERT ON embeddings BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = new.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER embeddings_update_counted AFTER UPDATE ON embeddings BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = old.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = new.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER embeddings_delete_counted AFTER DELETE ON embeddings BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = old.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memory_entities_insert_counted AFTER INSERT ON memory_entities BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = new.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memory_entities_update_counted AFTER UPDATE ON memory_entities BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = old.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = new.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memory_entities_delete_counted AFTER DELETE ON memory_entities BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = old.memory_id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER entities_insert_counted AFTER INSERT ON entities BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT new.tenant AS tenant UNION SELECT m.tenant FROM memory_entities JOIN memories m ON m.id = memory_id WHERE entity_id = new.id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER entities_update_counted AFTER UPDATE ON entities BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT old.tenant AS tenant UNION SELECT m.tenant FROM memory_entities JOIN memories m ON m.id = memory_id WHERE entity_id = old.id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; INSERT INTO changes SELECT tenant, 1 FROM (SELECT new.tenant AS tenant UNION SELECT m.tenant FROM memory_entities JOIN memories m ON m.id = memory_id WHERE entity_id = new.id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER entities_delete_counted AFTER DELETE ON entities BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT old.tenant AS tenant UNION SELECT m.tenant FROM memory_entities JOIN memories m ON m.id = memory_id WHERE entity_id = old.id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER synthesized_from_insert_counted AFTER INSERT ON synthesized_from BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id IN (new.derived_id, new.source_id)) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER synthesized_from_update_counted AFTER UPDATE ON synthesized_from BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id IN (old.derived_id, old.source_id)) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id IN (new.derived_id, new.source_id)) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER synthesized_from_delete_counted AFTER DELETE ON synthesized_from BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id IN (old.derived_id, old.source_id)) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER proposals_insert_counted AFTER INSERT ON proposals BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT new.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER proposals_update_counted AFTER UPDATE ON proposals BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT old.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; INSERT INTO changes SELECT tenant, 1 FROM (SELECT new.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER proposals_delete_counted AFTER DELETE ON proposals BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT old.tenant AS tenant) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memories_insert_replaced BEFORE INSERT ON memories BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = new.id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memories_update_replaced BEFORE UPDATE OF id ON memories WHEN new.id IS NOT old.id BEGIN INSERT INTO changes SELECT tenant, 1 FROM (SELECT tenant FROM memories WHERE id = new.id) WHERE true ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;
CREATE TRIGGER memories_release BEFORE DELETE ON memories
BEGIN
    UPDATE memories SET
        status = old.status,
        superseded_by = old.superseded_by,
        superseded_at = iif(old.status = 'superseded', superseded_at, NULL)
    WHERE superseded_by = old.id AND status = 'superseded' AND id <> old.id;
    -- Lineage that leads on to others, or holds the only text of a source, stays.
    DELETE FROM synthesized_from
    WHERE derived_id = old.id AND source_id IN (SELECT id FROM memories)
    AND NOT EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = old.id);
END;
CREATE INDEX links_by_key ON links (key);
CREATE INDEX witnesses_by_tenant ON witnesses (tenant);
CREATE UNIQUE INDEX shared_log_by_subject
ON shared_log (operation IN ('admit', 'dismiss'), subject, version);
CREATE INDEX shared_log_by_memory ON shared_log (memory_id) WHERE memory_id IS NOT NULL;
CREATE TRIGGER shared_log_grows BEFORE INSERT ON shared_log
WHEN new.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM shared_log)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: rows are added behind the others');
END;
CREATE TRIGGER shared_log_stays BEFORE UPDATE ON shared_log
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log is never changed');
END;
CREATE TRIGGER shared_log_is_kept BEFORE DELETE ON shared_log
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log is never deleted');
END;
CREATE TRIGGER shared_memory_added BEFORE INSERT ON memories
WHEN new.tenant = 'shared' AND EXISTS (SELECT 1 FROM shared_log)
AND NOT EXISTS (
    SELECT 1 FROM shared_log WHERE memory_id = new.id AND content = new.content
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: only what is published gets into this tenant');
END;
CREATE TRIGGER shared_memory_changed BEFORE UPDATE OF id, tenant, content ON memories
WHEN 'shared' IN (old.tenant, new.tenant) AND EXISTS (SELECT 1 FROM shared_log)
AND (old.id, old.tenant, old.content) IS NOT (new.id, new.tenant, new.content)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: another text is a new version, to be published');
END;
CREATE TRIGGER shared_memory_deleted BEFORE DELETE ON memories
WHEN old.tenant = 'shared' AND old.status = 'active'
AND EXISTS (SELECT 1 FROM shared_log WHERE memory_id = old.id)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: what holds no longer is retracted, not deleted');
END;
CREATE TRIGGER shared_memory_ended BEFORE UPDATE OF status ON memories
WHEN old.tenant = 'shared' AND EXISTS (SELECT 1 FROM shared_log WHERE memory_id = old.id)
AND (new.status = 'active') IS NOT EXISTS (
    SELECT 1 FROM shared_log AS published WHERE memory_id = old.id AND NOT EXISTS (
        SELECT 1 FROM shared_log WHERE operation IN ('publish', 'retract')
        AND subject = published.subject AND sequence > published.sequence
    )
)
BEGIN
    SELECT RAISE(IGNORE);
END;
COMMIT;
