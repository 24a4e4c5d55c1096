import { describe, expect, test } from 'vitest';
import { applyChanges } from '../../../../daemon/images/commit/changes.ts';

describe('changes', () => {
  test('every instruction', () => {
    expect(
      applyChanges({ Env: ['PATH=/bin'], WorkingDir: '/srv' }, [
        '# a comment\n\ncmd ["sh", "-c", "echo \\"hi\\""]',
        'ENTRYPOINT exec top -b',
        'ENV A=1 B="two words" C=\'$A\' D=${A}x PATH=$PATH:/sbin\nENV E old form',
        'LABEL a.b="c d" x=y',
        'LABEL note of old',
        'EXPOSE 80 53/udp 8000-8002',
        'USER ${B:+nobody}',
        'VOLUME ["/data", "/logs"]',
        'VOLUME /x /y',
        'WORKDIR app',
        'WORKDIR ../other',
        'STOPSIGNAL SIGUSR1',
        'ONBUILD RUN make',
      ]),
    ).toMatchInlineSnapshot(`
      {
        "Cmd": [
          "sh",
          "-c",
          "echo "hi"",
        ],
        "Entrypoint": [
          "/bin/sh",
          "-c",
          "exec top -b",
        ],
        "Env": [
          "PATH=/bin:/sbin",
          "A=1",
          "B=two words",
          "C=$A",
          "D=x",
          "E=old form",
        ],
        "ExposedPorts": {
          "53/udp": {},
          "80/tcp": {},
          "8000/tcp": {},
          "8001/tcp": {},
          "8002/tcp": {},
        },
        "Labels": {
          "a.b": "c d",
          "note": "of old",
          "x": "y",
        },
        "OnBuild": [
          "RUN make",
        ],
        "StopSignal": "SIGUSR1",
        "User": "nobody",
        "Volumes": {
          "/data": {},
          "/logs": {},
          "/x": {},
          "/y": {},
        },
        "WorkingDir": "/srv/other",
      }
    `);
  });

  test.each([
    ['HEALTHCHECK NONE', { Test: ['NONE'] }],
    ['HEALTHCHECK CMD curl -f "http://x/ y"', { Test: ['CMD-SHELL', 'curl -f "http://x/ y"'] }],
    [
      'HEALTHCHECK --interval=1m30s --timeout=500ms --start-period=0.5s --start-interval=2s --retries=4 ' +
        'cmd ["a", "b c"]',
      {
        Test: ['CMD', 'a', 'b c'],
        Interval: 90e9,
        Timeout: 5e8,
        StartPeriod: 5e8,
        StartInterval: 2e9,
        Retries: 4,
      },
    ],
  ])('%s', (change, Healthcheck) => {
    expect(applyChanges({}, [change])).toEqual({ Healthcheck });
  });

  test.each([
    ['FROM scratch', 'line 1: FROM is not a valid change command'],
    ['CMD ["sh"]\nRUN x', 'line 2: RUN is not a valid change command'],
    ['CMD', 'line 1: CMD requires at least one argument'],
    ['ENV A', 'line 1: ENV must have two arguments'],
    ['ENV A=1 B', 'line 1: ENV: cannot read "B", expected name=value'],
    [
      'ENV A="x',
      `line 1: ENV: failed to process "A=\\"x": unexpected end of statement while looking for matching double-quote`,
    ],
    ['ENV A=${', `line 1: ENV: failed to process "A=\${": syntax error: missing '}'`],
    ['EXPOSE 70000', 'line 1: EXPOSE: invalid containerPort: 70000'],
    ['EXPOSE web', 'line 1: EXPOSE: invalid containerPort: web'],
    ['VOLUME ["/a", ""]', 'line 1: VOLUME specified can not be an empty string'],
    ['ONBUILD ONBUILD RUN x', "line 1: ONBUILD: Chaining ONBUILD via `ONBUILD ONBUILD` isn't allowed"],
    ['ONBUILD FROM x', "line 1: ONBUILD: FROM isn't allowed as an ONBUILD trigger"],
    ['HEALTHCHECK NONE x', 'line 1: HEALTHCHECK NONE takes no arguments'],
    ['HEALTHCHECK CMD', 'line 1: HEALTHCHECK: Missing command after HEALTHCHECK CMD'],
    ['HEALTHCHECK CMD []', 'line 1: HEALTHCHECK: Missing command after HEALTHCHECK CMD'],
    ['HEALTHCHECK true', 'line 1: HEALTHCHECK: Unknown type "true" in HEALTHCHECK (try CMD)'],
    ['HEALTHCHECK --interval=1s', 'line 1: HEALTHCHECK: Unknown type "" in HEALTHCHECK (try CMD)'],
    ['HEALTHCHECK --every=1s CMD true', 'line 1: HEALTHCHECK: Unknown flag: every'],
    ['HEALTHCHECK --interval=soon CMD true', 'line 1: HEALTHCHECK: --interval: invalid duration "soon"'],
    ['HEALTHCHECK --timeout=1us CMD true', 'line 1: HEALTHCHECK: --timeout cannot be less than 1ms'],
    ['HEALTHCHECK --retries=0 CMD true', 'line 1: HEALTHCHECK: --retries must be at least 1 (not 0)'],
  ])('refuses %j', (change, message) => {
    expect(() => applyChanges({}, [change])).toThrow(expect.objectContaining({ message }));
  });
});
