FROM debian:12 AS base
ENV NODE_ENV=production \
    PATH=/app/node_modules/.bin:$PATH
WORKDIR /app

FROM base AS deps
COPY package.json package-lock.json* ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=cache,target=/root/.npm \
    npm ci --include=dev

FROM deps AS build
COPY . .
RUN npm run build && npm prune --omit=dev

FROM base
COPY --from=build --chown=node:node /app/node_modules ./node_modules
COPY --from=build --chown=node:node /app/dist ./dist
USER node
EXPOSE 3000/tcp
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s --start-interval=1s CMD wget -qO- localhost:3000/health || exit 1
STOPSIGNAL SIGINT
CMD ["node", "dist/server.js"]
