/** A check of Dockerfiles, by the names that their `# check=skip=` lines know. */
export interface Rule {
  name: string;
  description: string;
  url: string;
  /** Runs only where it is asked for. */
  isExperimental: boolean;
}

const PAGES = 'https://docs.docker.com/go/dockerfile/rule/';

function rule(name: string, description: string, isExperimental = false): Rule {
  const page = name.replaceAll(/([a-z])(?=[A-Z])|([A-Z]+)(?=[A-Z][a-z])/g, '$1$2-').toLowerCase();
  return { name, description, url: `${PAGES}${page}/`, isExperimental };
}

/** All rules of the Dockerfile reference (docs.docker.com, "Build checks"). */
export const RULES = {
  stageNameCasing: rule('StageNameCasing', 'Stage names should be lowercase'),
  fromAsCasing: rule('FromAsCasing', "The 'as' keyword should match the case of the 'from' keyword"),
  noEmptyContinuation: rule(
    'NoEmptyContinuation',
    'Empty continuation lines will become errors in a future release',
  ),
  consistentInstructionCasing: rule(
    'ConsistentInstructionCasing',
    'All commands within the Dockerfile should use the same casing (either upper or lower)',
  ),
  duplicateStageName: rule('DuplicateStageName', 'Stage names should be unique'),
  reservedStageName: rule('ReservedStageName', 'Reserved words should not be used as stage names'),
  jsonArgsRecommended: rule(
    'JSONArgsRecommended',
    'JSON arguments recommended for ENTRYPOINT/CMD to prevent unintended behavior related to OS signals',
  ),
  maintainerDeprecated: rule(
    'MaintainerDeprecated',
    'The MAINTAINER instruction is deprecated, use a label instead to define an image author',
  ),
  undefinedArgInFrom: rule('UndefinedArgInFrom', 'FROM command must use declared ARGs'),
  workdirRelativePath: rule(
    'WorkdirRelativePath',
    'Relative workdir without an absolute workdir declared within the build can have unexpected results if the base ' +
      'image changes',
  ),
  undefinedVar: rule('UndefinedVar', 'Variables should be defined before their use'),
  multipleInstructionsDisallowed: rule(
    'MultipleInstructionsDisallowed',
    'Multiple instructions of the same type should not be used in the same stage',
  ),
  legacyKeyValueFormat: rule(
    'LegacyKeyValueFormat',
    'Legacy key/value format with whitespace separator should not be used',
  ),
  invalidBaseImagePlatform: {
    ...rule('InvalidBaseImagePlatform', 'Base image platform does not match expected target platform'),
    // The reference has no page for it.
    url: '',
  },
  redundantTargetPlatform: rule(
    'RedundantTargetPlatform',
    'Setting platform to predefined $TARGETPLATFORM in FROM is redundant as this is the default behavior',
  ),
  secretsUsedInArgOrEnv: rule(
    'SecretsUsedInArgOrEnv',
    'Sensitive data should not be used in the ARG or ENV commands',
  ),
  invalidDefaultArgInFrom: rule(
    'InvalidDefaultArgInFrom',
    'Default value for global ARG results in an empty or invalid base image name',
  ),
  fromPlatformFlagConstDisallowed: rule(
    'FromPlatformFlagConstDisallowed',
    'FROM --platform flag should not use a constant value',
  ),
  copyIgnoredFile: rule('CopyIgnoredFile', 'Attempting to Copy file that is excluded by .dockerignore', true),
  invalidDefinitionDescription: rule(
    'InvalidDefinitionDescription',
    'Comment for build stage or argument should follow the format: `# <arg/stage name> <description>`. If this is ' +
      'not intended to be a description comment, add an empty line or comment between the instruction and the comment.',
    true,
  ),
  exposeProtoCasing: rule('ExposeProtoCasing', 'Protocol in EXPOSE instruction should be lowercase'),
  exposeInvalidFormat: rule(
    'ExposeInvalidFormat',
    'IP address and host-port mapping should not be used in EXPOSE instruction. This will become an error in a ' +
      'future release',
  ),
} as const satisfies Record<string, Rule>;
