/**
 * Run inside the daemon's network namespace, with DOCKER_HOST set: starts a web server by testcontainers, waits for it
 * in three ways, fetches a page, runs a command in it, stops it. Prints one JSON document.
 */
import { GenericContainer, Wait } from 'testcontainers';

const script =
  'mkdir /www; echo hello from inside >/www/index.html; echo serving; exec httpd -f -p 80 -h /www';
const container = await new GenericContainer('busybox:latest')
  .withCommand(['sh', '-c', script])
  .withEnvironment({ COLOUR: 'blue' })
  .withExposedPorts(80)
  .withCopyContentToContainer([{ content: 'copied\n', target: '/tmp/copied' }])
  .withWaitStrategy(
    Wait.forAll([Wait.forLogMessage('serving'), Wait.forHttp('/', 80).forStatusCode(200)]).withDeadline(
      60_000,
    ),
  )
  .start();
const page = await fetch(`http://${container.getHost()}:${container.getMappedPort(80)}/`);
const environment = await container.exec(['sh', '-c', 'echo $COLOUR; cat /tmp/copied; exit 3']);
const result = {
  page: await page.text(),
  output: environment.output,
  exitCode: environment.exitCode,
  address: container.getIpAddress('bridge'),
};
await container.stop();
process.stdout.write(`${JSON.stringify(result)}\n`);
