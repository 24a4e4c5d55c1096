import { describeEngine } from '../../../support/engine/engine.ts';
import { themes } from './rows/index.ts';
import { fieldTests } from './table.ts';

describeEngine('fields of create: identity', (engine) => fieldTests(engine, themes.identity));
describeEngine('fields of create: mounts', (engine) => fieldTests(engine, themes.mounts));
describeEngine('fields of create: resources', (engine) => fieldTests(engine, themes.resources));
describeEngine('fields of create: sandbox', (engine) => fieldTests(engine, themes.sandbox));
describeEngine('fields of create: life', (engine) => fieldTests(engine, themes.life));
