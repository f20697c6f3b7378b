# Two images from one file: `web` has no TensorFlow and so less to attack; `worker` trains, on CPU or, with LOCK=gpu, on NVIDIA GPUs.
# Both reach an artifact store that speaks S3.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS wheel
COPY requirements/build.lock /build.lock
RUN python -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes -r /build.lock
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY db db
COPY gan gan
COPY worker worker
COPY ganboard ganboard
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel .

# the packages change seldom and the wheel often: a new version of ours re-uses the layers with the packages
FROM ${BASE} AS web-packages
COPY requirements/web.lock /packages.lock
RUN python -m venv --without-pip /venv && pip --python /venv/bin/python install --no-cache-dir --require-hashes -r /packages.lock

FROM ${BASE} AS worker-packages
ARG LOCK=s3
COPY requirements/${LOCK}.lock /packages.lock
RUN python -m venv --without-pip /venv && pip --python /venv/bin/python install --no-cache-dir --require-hashes -r /packages.lock

# at run time nothing is written but the volumes and /tmp: the root file system may be read-only
FROM ${BASE} AS runtime
# a new volume takes its owner from the directory that it covers
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp ganboard \
    && install --directory --owner ganboard --group ganboard /state /data /secrets/database /secrets/queue /secrets/store /secrets/web
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp GANBOARD_HOME=/state GANBOARD_DATA_DIR=/data
WORKDIR /state

FROM runtime AS web
COPY --from=web-packages /venv /venv
RUN --mount=from=wheel,source=/wheel,target=/wheel pip --python /venv/bin/python install --no-cache-dir --no-deps --no-index /wheel/*.whl
USER 10001:10001
EXPOSE 8501
CMD ["python", "-m", "ganboard.worker.supervisor.web", "--port", "8501", "--address", "0.0.0.0"]

FROM runtime AS worker
COPY --from=worker-packages /venv /venv
RUN --mount=from=wheel,source=/wheel,target=/wheel pip --python /venv/bin/python install --no-cache-dir --no-deps --no-index /wheel/*.whl
USER 10001:10001
CMD ["ganboard", "worker"]
