# The server with its page and the runtime for local models; weights are downloaded into /data at the first use.
#
#     docker build -t treadle .
#     docker run -p 8460:8460 -e TREADLE_TOKEN=a-long-random-token -v treadle:/data treadle
#
# Another model: add `--model openai:gpt-5-mini` and `-e OPENAI_API_KEY`. An image for such models alone is 28 MB smaller
# without the adapters for local ones: docker build --build-arg ADAPTERS= -t treadle .

FROM python:3.13-slim AS build
ARG ADAPTERS=./packages/treadle-adapters
COPY . /src
WORKDIR /src
# The page is built with the package; Node comes as a build requirement (hatch_build.py).
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . $ADAPTERS
RUN python -m venv --without-pip /opt/treadle \
    && pip --python /opt/treadle/bin/python install --no-cache-dir --no-compile --require-hashes -r requirements/serve.lock \
    && pip --python /opt/treadle/bin/python install --no-cache-dir --no-compile --no-deps /wheels/*.whl \
    && pip --python /opt/treadle/bin/python uninstall --yes hatchling editables \
    && find /opt/treadle -name tests -type d -prune -exec rm -r {} +

FROM python:3.13-slim
LABEL org.opencontainers.image.title="Treadle" org.opencontainers.image.licenses="Apache-2.0"
# llama.cpp computes with OpenMP.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home treadle
COPY --from=build /opt/treadle /opt/treadle
ENV PATH=/opt/treadle/bin:$PATH TREADLE_STATE=/data/state TREADLE_CACHE=/data/cache PYTHONDONTWRITEBYTECODE=1
USER 10001
VOLUME /data
EXPOSE 8460
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8460/health', timeout=4).read()"]
ENTRYPOINT ["treadle", "serve", "--host", "0.0.0.0", "--port", "8460"]
